"""The hz3 allocator, from the checkout that this file is in: conan create packaging/conan"""

import os
import re
from typing import ClassVar

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir

ROOT = os.path.join("..", "..")
PARTS = ("bin", "classic", "cmake", "include", "look", "src", "trace")


class Hz3(ConanFile):
    name = "hz3"
    description = "A malloc that stays fast and small when threads free each other's memory"
    license = "MIT"
    topics = ("malloc", "allocator")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options: ClassVar = {"shared": [True, False], "lane": ["scale", "fast", "r90", "memory", "secure"]}
    default_options: ClassVar = {"shared": True, "lane": "scale"}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include", "hz3.h"))
        self.version = ".".join(re.findall(r"^#define HZ3_VERSION_\w+ (\d+)$", header, re.M))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, ROOT)
        for pattern in ("CMakeLists.txt", "LICENSE", *(f"{part}/*" for part in PARTS)):
            copy(self, pattern, root, self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("hz3 runs on Linux only")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(HZ3_LANE=str(self.options.lane), HZ3_TESTS=False, HZ3_BENCH=False)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        lib = os.path.join(self.package_folder, "lib")
        for folder in "cmake", "pkgconfig":  # Conan writes its own
            rmdir(self, os.path.join(lib, folder))
        rm(self, "*.a" if self.options.shared else "*.so*", lib)

    def package_info(self):
        lane = str(self.options.lane)
        self.cpp_info.libs = ["hz3" if lane == "scale" else f"hz3-{lane}"]
        self.cpp_info.system_libs = ["pthread", "dl"]
