#include "cublaslt.h"

#include <dlfcn.h>

namespace cutlass_ninja::cublaslt {

std::string load(std::string const& path, Library& library) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW);
  if (!handle) return dlerror();
  struct Symbol {
    char const* name;
    void** place;
  };
  Symbol const symbols[] = {
      {"cublasLtGetVersion", reinterpret_cast<void**>(&library.version)},
      {"cublasLtCreate", reinterpret_cast<void**>(&library.create)},
      {"cublasLtMatmulDescCreate", reinterpret_cast<void**>(&library.matmul_create)},
      {"cublasLtMatmulDescSetAttribute", reinterpret_cast<void**>(&library.matmul_set)},
      {"cublasLtMatmulDescDestroy", reinterpret_cast<void**>(&library.matmul_destroy)},
      {"cublasLtMatrixLayoutCreate", reinterpret_cast<void**>(&library.layout_create)},
      {"cublasLtMatrixLayoutSetAttribute", reinterpret_cast<void**>(&library.layout_set)},
      {"cublasLtMatrixLayoutDestroy", reinterpret_cast<void**>(&library.layout_destroy)},
      {"cublasLtMatmulPreferenceCreate", reinterpret_cast<void**>(&library.preference_create)},
      {"cublasLtMatmulPreferenceSetAttribute", reinterpret_cast<void**>(&library.preference_set)},
      {"cublasLtMatmulPreferenceDestroy", reinterpret_cast<void**>(&library.preference_destroy)},
      {"cublasLtMatmulAlgoGetHeuristic", reinterpret_cast<void**>(&library.heuristic)},
      {"cublasLtMatmul", reinterpret_cast<void**>(&library.matmul)},
  };
  for (Symbol const& symbol : symbols) {
    *symbol.place = dlsym(handle, symbol.name);
    if (!*symbol.place) return path + " has no " + symbol.name;
  }
  return "";
}

}  // namespace cutlass_ninja::cublaslt
