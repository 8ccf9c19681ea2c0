/// The kernel as CUDA's launch functions take it; null if it cannot be loaded, with why in `*reason` if that is not null.
void const* kernel_entry(char const** reason = nullptr) {
#ifdef CUTLASS_NINJA_APART
  static cutlass_ninja::Kernel const kernel = cutlass_ninja::load_kernel(
      CUTLASS_NINJA_STRING(CUTLASS_NINJA_ENTRY), CUTLASS_NINJA_STRING(CUTLASS_NINJA_HALVES),
      {sizeof({{ params }}), {{ shared_storage }}, {{ threads }}});
  if (reason) *reason = kernel.reason;
  return kernel.entry;
#else
  (void)reason;
  return reinterpret_cast<void const*>(&CUTLASS_NINJA_ENTRY);
#endif
}

cutlass_ninja_status load(char const** reason) {
  return kernel_entry(reason) ? CUTLASS_NINJA_SUCCESS : CUTLASS_NINJA_ERROR_INTERNAL;
}
{%- if split_k_mode is defined and split_k_mode == "parallel" %}

/// The kernel that sums up the slices of K.
void const* reduction_entry() {
#ifdef CUTLASS_NINJA_APART
  static void const* const entry =
      cutlass_ninja::load_kernel(CUTLASS_NINJA_STRING(CUTLASS_NINJA_REDUCTION_ENTRY)).entry;
  return entry;
#else
  return reinterpret_cast<void const*>(&CUTLASS_NINJA_REDUCTION_ENTRY);
#endif
}
{%- endif %}

