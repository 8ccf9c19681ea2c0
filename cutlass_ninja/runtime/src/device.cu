#include <cstdio>

#include "device.h"
#include "error.h"

namespace cutlass_ninja {
namespace {

/// nvcc's list of the virtual architectures that this file is compiled for, such as 900.
constexpr int kArchitectures[] = {__CUDA_ARCH_LIST__};

__global__ void probe() {}

std::string dotted(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string version_text(int version) { return dotted(version / 1000, version % 1000 / 10); }

std::string uuid_text(cudaUUID_t const& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += hex;
  }
  return text;
}

/// How many devices there are. Throws MachineError for none.
int device_count() {
  int count = 0;
  cudaError_t const counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess || count == 0) {
    char const* const message =
        cudaGetErrorString(counted == cudaSuccess ? cudaErrorNoDevice : counted);
    throw MachineError(std::string("no CUDA device: ") + message +
                       "; run on a machine with an NVIDIA GPU and a driver new enough (in a "
                       "container: pass the GPUs on, as by --gpus all)");
  }
  return count;
}

Device described(int ordinal) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal), "asking for the device's properties");
  int runtime = 0, driver = 0;
  check(cudaRuntimeGetVersion(&runtime), "asking for the CUDA version");
  check(cudaDriverGetVersion(&driver), "asking for the driver's CUDA version");
  return {ordinal,
          properties.name,
          uuid_text(properties.uuid),
          dotted(properties.major, properties.minor),
          properties.multiProcessorCount,
          properties.l2CacheSize,
          version_text(runtime),
          version_text(driver)};
}

}  // namespace

void check_kernel_image(cudaError_t code) {
  if (code != cudaErrorNoKernelImageForDevice) return;
  cudaGetLastError();
  int ordinal = 0;
  cudaDeviceProp properties;
  check(cudaGetDevice(&ordinal), "asking for the device");
  check(cudaGetDeviceProperties(&properties, ordinal), "asking for the device's properties");
  std::string built_for;
  for (int const architecture : kArchitectures) {
    if (!built_for.empty()) built_for += ", ";
    built_for += dotted(architecture / 100, architecture % 100 / 10);
  }
  throw MachineError(
      std::string("this binary was built for compute capability ") + built_for + " and device " +
      std::to_string(ordinal) + " (" + properties.name + ") has " +
      dotted(properties.major, properties.minor) +
      "; choose another with --device, or build the kernel for this GPU's architecture");
}

std::vector<Device> list_devices() {
  std::vector<Device> devices;
  int const count = device_count();
  for (int ordinal = 0; ordinal < count; ++ordinal) devices.push_back(described(ordinal));
  return devices;
}

Device use_device(int ordinal) {
  int const count = device_count();
  if (ordinal >= count) {
    throw MachineError("no CUDA device " + std::to_string(ordinal) + ": this machine has " +
                       std::to_string(count) + "; choose --device from 0 to " +
                       std::to_string(count - 1));
  }
  check(cudaSetDevice(ordinal), "choosing the device");
  cudaFuncAttributes attributes;
  cudaError_t const probed = cudaFuncGetAttributes(&attributes, probe);
  check_kernel_image(probed);
  check(probed, "loading this binary's code");
  return described(ordinal);
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

}  // namespace cutlass_ninja
