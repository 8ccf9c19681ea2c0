// A stand-in for the baseline, whose library is nowhere.
int main() { return 3; }
