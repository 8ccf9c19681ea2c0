/// Empty: host_stubs.h includes it.
#pragma once
