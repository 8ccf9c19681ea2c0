// A stand-in for the baseline, whose library is nowhere.
#include <cstdio>

int main() {
  std::fputs("error: no library\n", stderr);
  return 3;
}
