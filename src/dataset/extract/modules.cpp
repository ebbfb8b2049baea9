#include "dataset/extract/modules.h"

#include <algorithm>
#include <array>

namespace kw::harvest {
namespace {

// Both sorted. clang-format off keeps the words in rows.
// clang-format off
constexpr std::array builtins = std::to_array<std::string_view>({
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup",
    "BlockingIOError", "BrokenPipeError", "BufferError", "BytesWarning", "ChildProcessError",
    "ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError",
    "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning", "EnvironmentError", "Exception",
    "ExceptionGroup", "False", "FileExistsError", "FileNotFoundError", "FloatingPointError",
    "FutureWarning", "GeneratorExit", "IOError", "ImportError", "ImportWarning", "IndentationError",
    "IndexError", "InterruptedError", "IsADirectoryError", "KeyError", "KeyboardInterrupt", "LookupError",
    "MemoryError", "ModuleNotFoundError", "NameError", "None", "NotADirectoryError", "NotImplemented",
    "NotImplementedError", "OSError", "OverflowError", "PendingDeprecationWarning", "PermissionError",
    "ProcessLookupError", "RecursionError", "ReferenceError", "ResourceWarning", "RuntimeError",
    "RuntimeWarning", "StopAsyncIteration", "StopIteration", "SyntaxError", "SyntaxWarning", "SystemError",
    "SystemExit", "TabError", "TimeoutError", "True", "TypeError", "UnboundLocalError",
    "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError", "UnicodeTranslateError", "UnicodeWarning",
    "UserWarning", "ValueError", "Warning", "ZeroDivisionError", "__all__", "__annotations__",
    "__build_class__", "__builtins__", "__class__", "__debug__", "__dict__", "__doc__", "__file__",
    "__import__", "__name__", "__package__", "__path__", "__spec__", "abs", "aiter", "all", "anext", "any",
    "ascii", "bin", "bool", "breakpoint", "bytearray", "bytes", "callable", "chr", "classmethod", "compile",
    "complex", "copyright", "credits", "delattr", "dict", "dir", "divmod", "enumerate", "eval", "exec",
    "exit", "filter", "float", "format", "frozenset", "getattr", "globals", "hasattr", "hash", "help",
    "hex", "id", "input", "int", "isinstance", "issubclass", "iter", "len", "license", "list", "locals",
    "map", "max", "memoryview", "min", "next", "object", "oct", "open", "ord", "pow", "print", "property",
    "quit", "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted", "staticmethod",
    "str", "sum", "super", "tuple", "type", "vars", "zip",
});

constexpr std::array modules = std::to_array<std::string_view>({
    "__future__", "abc", "aifc", "antigravity", "argparse", "array", "ast", "asynchat", "asyncio",
    "asyncore", "atexit", "audioop", "base64", "bdb", "binascii", "bisect", "builtins", "bz2", "cProfile",
    "calendar", "cgi", "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections",
    "colorsys", "compileall", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg",
    "crypt", "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis",
    "distutils", "doctest", "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl",
    "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt",
    "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http",
    "idlelib", "imaplib", "imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "itertools", "json",
    "keyword", "lib2to3", "linecache", "locale", "logging", "lzma", "mailbox", "mailcap", "marshal", "math",
    "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt", "multiprocessing", "netrc", "nis", "nntplib",
    "nt", "ntpath", "nturl2path", "numbers", "numpy", "opcode", "operator", "optparse", "os", "ossaudiodev", "packaging",
    "pathlib", "pdb", "pickle", "pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib",
    "posix", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc",
    "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib", "resource",
    "rlcompleter", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil",
    "signal", "site", "smtpd", "smtplib", "sndhdr", "socket", "socketserver", "spwd", "sqlite3",
    "sre_compile", "sre_constants", "sre_parse", "ssl", "stat", "statistics", "string", "stringprep",
    "struct", "subprocess", "sunau", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile",
    "telnetlib", "tempfile", "termios", "textwrap", "this", "threading", "time", "timeit", "tkinter",
    "token", "tokenize", "tomllib", "torch", "trace", "traceback", "tracemalloc", "triton", "tty", "turtle",
    "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib", "uu", "uuid", "venv", "warnings",
    "wave", "weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp",
    "zipfile", "zipimport", "zlib", "zoneinfo",
});
// clang-format on

static_assert(std::ranges::is_sorted(builtins));
static_assert(std::ranges::is_sorted(modules));

}  // namespace

bool is_builtin(std::string_view name) {
  return std::ranges::binary_search(builtins, name);
}

bool is_known_module(std::string_view module) {
  return std::ranges::binary_search(modules, module.substr(0, module.find('.')));
}

bool is_kernel_language(std::string_view module) {
  static constexpr std::array languages = std::to_array<std::string_view>(
      {"cuda", "cupy", "cutlass", "flydsl", "numba", "pycuda", "tilelang", "triton", "tvm", "warp"});
  return std::ranges::binary_search(languages, module.substr(0, module.find('.')));
}

namespace {

constexpr std::size_t most_steps = 24;  // through imports that lead to imports
constexpr std::size_t most_parts = 12;
constexpr std::size_t most_stars = 16;

std::string_view folder_of(std::string_view path) {
  std::size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view{} : path.substr(0, slash);
}

std::string joined(std::string_view folder, std::string_view module) {
  std::string base(folder);
  if (!base.empty() && !module.empty()) base += '/';
  for (char c : module) base += c == '.' ? '/' : c;
  return base;
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (parts.size() < most_parts) {
    std::size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == path.npos) break;
    path.remove_prefix(dot + 1);
  }
  return parts;
}

// "pkg/utils" for pkg/utils.py and for pkg/utils/__init__.py.
std::string base_of(std::string_view path) {
  std::string_view base = path.substr(0, path.rfind('.'));
  if (base.ends_with("/__init__")) base = folder_of(base);
  return std::string(base);
}

}  // namespace

// The state of one resolution: `name` is the current name, `at` is the number of resolved parts of the path.
struct Modules::Search {
  std::vector<std::string> parts;
  std::size_t at = 1;
  std::string name;
  std::size_t steps = 0;
  std::vector<std::pair<std::string, std::string>> seen = {};  // modules, and the names searched in them
  Found found = {};

  bool done(Found::Kind kind) {
    found.kind = kind;
    found.parts = at;
    return true;
  }
};

Modules::Modules(const Files& files)
    : files_(files), names_(files.size()), nested_(files.size()), stars_(files.size()) {
  for (std::size_t file = 0; file < files.size(); ++file)
    if (files[file]->language == Language::python && !files[file]->source.block) add_file(file);
  for (const auto& [base, file] : modules_) {
    (void)file;
    for (std::string_view folder = folder_of(base); !folder.empty(); folder = folder_of(folder))
      if (!folders_.emplace(folder).second) break;
  }
  for (const auto& file : files) {
    if (file->language != Language::python || file->source.block) continue;
    std::string package(folder_of(file->source.path));
    if (!modules_.contains(package)) continue;
    for (std::string above(folder_of(package)); modules_.contains(above); above = folder_of(above))
      package = above;
    std::size_t slash = package.rfind('/');
    std::string root = slash == package.npos ? "" : package.substr(0, slash);
    roots_.emplace(package.substr(slash == package.npos ? 0 : slash + 1), root);
  }
  for (std::size_t file = 0; file < files.size(); ++file)
    for (std::size_t i = 0; i < files[file]->python.statements.size(); ++i) {
      const Statement& statement = files[file]->python.statements[i];
      auto& names = i < files[file]->python.of_module ? names_ : nested_;
      for (const std::string& name : statement.defines) names[file][name].push_back(i);
      for (const Import& import : statement.imports)
        if (import.name == "*" && stars_[file].size() < most_stars) stars_[file].push_back(import);
    }
}

void Modules::add_file(std::size_t file) {
  const std::string& path = files_[file]->source.path;
  std::string base = base_of(path);
  // A package takes precedence over a module of that name, and code over its stub.
  bool package = path.ends_with("/__init__.py");
  if (!modules_.emplace(base, file).second && package) modules_[base] = file;
}

std::string Modules::locate_relative(std::size_t file, std::string_view module) const {
  std::size_t dots = std::min(module.find_first_not_of('.'), module.size());
  std::string_view folder = folder_of(files_[file]->source.path);
  for (std::size_t up = 1; up < dots; ++up) folder = folder_of(folder);
  std::string base = joined(folder, module.substr(dots));
  return exists(base) ? base : std::string{};
}

// Empty if the module is not of this origin.
std::string Modules::locate(std::size_t file, std::string_view module) const {
  if (files_[file]->source.block) return {};
  if (module.starts_with('.')) return locate_relative(file, module);
  if (is_known_module(module)) return {};
  std::string_view folder = folder_of(files_[file]->source.path);
  while (true) {
    std::string base = joined(folder, module);
    if (!modules_.contains(std::string(folder)) && exists(base)) return base;
    if (folder.empty()) break;
    folder = folder_of(folder);
  }
  auto root = roots_.find(std::string(module.substr(0, module.find('.'))));
  if (root == roots_.end()) return {};
  std::string base = joined(root->second, module);
  return exists(base) ? base : std::string{};
}

bool Modules::follow(std::size_t file, const Import& import, Search& search) const {
  if (++search.steps > most_steps) return search.done(Found::Kind::missing);
  std::string base = locate(file, import.module);
  if (base.empty()) {
    search.found.import = import;
    return search.done(import.module.starts_with('.') ? Found::Kind::missing : Found::Kind::external);
  }
  if (!import.name.empty()) {
    search.name = import.name;
    return find_in_module(base, search) || search.done(Found::Kind::missing);
  }
  if (search.at >= search.parts.size()) {
    return search.done(Found::Kind::module);
  }
  search.name = search.parts[search.at++];
  return find_in_module(base, search) || search.done(Found::Kind::missing);
}

bool Modules::find_in_stars(std::size_t file, Search& search) const {
  for (const Import& import : stars_[file]) {
    if (++search.steps > most_steps) return false;
    std::string base = locate(file, import.module);
    if (!base.empty()) {
      if (find_in_module(base, search)) return true;
    } else if (!import.module.starts_with('.') && !is_builtin(search.name)) {
      search.found.import = import;
      return search.done(Found::Kind::external);
    }
  }
  return false;
}

bool Modules::find_in_file(std::size_t file, Search& search) const {
  auto defined = names_[file].find(search.name);
  if (defined != names_[file].end()) return find_among(defined->second, file, search);
  return find_in_stars(file, search);
}

bool Modules::find_among(const std::vector<std::size_t>& defined, std::size_t file, Search& search) const {
  const auto& statements = files_[file]->python.statements;
  for (std::size_t i : defined)
    for (const Import& import : statements[i].imports)
      if (import.local == search.name) {
        // A definition in this origin takes precedence over an import from elsewhere in another branch.
        bool elsewhere = locate(file, import.module).empty();
        if (elsewhere && defined.size() > 1) break;
        return follow(file, import, search);
      }
  search.found.file = file;
  search.found.name = search.name;
  search.found.statements = defined;
  return search.done(Found::Kind::statement);
}

// Searches imports and definitions inside functions.
bool Modules::find_nested(std::size_t file, Search& search) const {
  auto defined = nested_[file].find(search.name);
  if (defined != nested_[file].end()) return find_among(defined->second, file, search);
  for (const Import& import : files_[file]->python.nested_imports)
    if (import.local == search.name) return follow(file, import, search);
  return false;
}

// False if the module does not have the name.
bool Modules::find_in_module(const std::string& base, Search& search) const {
  if (++search.steps > most_steps) return search.done(Found::Kind::missing);
  std::string name = search.name;
  std::size_t at = search.at;
  auto file = modules_.find(base);
  // `from . import name` in a package's own __init__ imports a submodule.
  bool again = std::ranges::find(search.seen, std::pair(base, name)) != search.seen.end();
  search.seen.emplace_back(base, name);
  if (!again && file != modules_.end() && find_in_file(file->second, search) &&
      search.found.kind != Found::Kind::missing)
    return true;
  std::string below = base + "/" + name;
  if (!exists(below)) return false;
  search.at = at;
  if (search.at >= search.parts.size()) return search.done(Found::Kind::module);
  search.name = search.parts[search.at++];
  return find_in_module(below, search);
}

Found Modules::resolve(std::size_t file, std::string_view path) const {
  Search search{.parts = parts_of(path), .at = 1, .name = {}};
  search.name = search.parts.front();
  if (find_in_file(file, search)) return std::move(search.found);
  search = {.parts = std::move(search.parts), .at = 1, .name = {}};
  search.name = search.parts.front();
  bool builtin = is_builtin(search.parts.front()) ||
                 std::ranges::binary_search(files_[file]->python.guard_names, search.parts.front());
  if (!builtin && find_nested(file, search)) return std::move(search.found);
  search.found.kind = builtin ? Found::Kind::builtin : Found::Kind::missing;
  return std::move(search.found);
}

}  // namespace kw::harvest
