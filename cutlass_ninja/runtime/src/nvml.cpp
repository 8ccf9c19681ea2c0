#include "nvml.h"

#include <dlfcn.h>

namespace cutlass_ninja {
namespace {

constexpr char const* kLibrary = "libnvidia-ml.so.1";

// From nvml.h, whose values never change.
constexpr int kSuccess = 0;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr unsigned kVersionBytes = 96;

/// A value that NVML writes to a variable, if it knows it.
template <typename T, typename Call>
std::optional<double> ask(Call call) {
  T value = 0;
  if (call(&value) != kSuccess) return std::nullopt;
  return static_cast<double>(value);
}

}  // namespace

/// The functions that are used, by the names and types of nvml.h; nvmlDevice_t is a pointer.
struct Nvml::Library {
  void* handle = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*handle_by_uuid)(char const*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*power_usage)(void*, unsigned*) = nullptr;
  int (*throttle_reasons)(void*, unsigned long long*) = nullptr;

  ~Library() {
    if (shutdown) shutdown();
    if (handle) dlclose(handle);
  }

  /// Why it cannot be used; empty if it can.
  std::string load() {
    handle = dlopen(kLibrary, RTLD_NOW);
    if (!handle) return std::string(kLibrary) + " was not found";
    struct Symbol {
      char const* name;
      void** place;
    };
    int (*shut_down_later)() = nullptr;
    Symbol const symbols[] = {
        {"nvmlInit_v2", reinterpret_cast<void**>(&init)},
        {"nvmlShutdown", reinterpret_cast<void**>(&shut_down_later)},
        {"nvmlSystemGetDriverVersion", reinterpret_cast<void**>(&driver_version)},
        {"nvmlDeviceGetHandleByUUID", reinterpret_cast<void**>(&handle_by_uuid)},
        {"nvmlDeviceGetClockInfo", reinterpret_cast<void**>(&clock)},
        {"nvmlDeviceGetTemperature", reinterpret_cast<void**>(&temperature)},
        {"nvmlDeviceGetPowerUsage", reinterpret_cast<void**>(&power_usage)},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", reinterpret_cast<void**>(&throttle_reasons)},
    };
    for (Symbol const& symbol : symbols) {
      *symbol.place = dlsym(handle, symbol.name);
      if (!*symbol.place) return std::string(kLibrary) + " has no " + symbol.name;
    }
    if (init() != kSuccess) return std::string(kLibrary) + " cannot be initialized";
    shutdown = shut_down_later;
    return "";
  }
};

Nvml::Nvml(std::string const& uuid) : library_(std::make_unique<Library>()) {
  unavailable_ = library_->load();
  if (!unavailable_.empty()) return;
  char version[kVersionBytes] = "";
  if (library_->driver_version(version, sizeof version) == kSuccess) driver_version_ = version;
  if (library_->handle_by_uuid(uuid.c_str(), &gpu_) != kSuccess) {
    unavailable_ = std::string(kLibrary) + " does not know the GPU " + uuid;
  }
}

Nvml::~Nvml() = default;

Reading Nvml::read() const {
  Library const& nvml = *library_;
  Reading reading;
  reading.memory_clock_mhz =
      ask<unsigned>([&](unsigned* mhz) { return nvml.clock(gpu_, kClockMemory, mhz); });
  reading.temperature_c = ask<unsigned>(
      [&](unsigned* celsius) { return nvml.temperature(gpu_, kTemperatureGpu, celsius); });
  reading.power_w =
      ask<unsigned>([&](unsigned* milliwatts) { return nvml.power_usage(gpu_, milliwatts); });
  if (reading.power_w) *reading.power_w *= 1e-3;
  unsigned long long reasons = 0;
  if (nvml.throttle_reasons(gpu_, &reasons) == kSuccess) reading.throttle_reasons = reasons;
  return reading;
}

}  // namespace cutlass_ninja
