#include "code/syntax/features.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <string>
#include <vector>

#include "code/syntax/tree.h"

namespace kw {
namespace {

using namespace std::string_view_literals;

struct Feature {
  std::string_view
      reported;  // within the report of `Unsupported` in python/kernelwright/_engine, or Triton's
  std::vector<std::string_view> words;  // in lower case; one of them is in each source with the feature
};

// Triton's own functions use inline PTX and external functions too: those of tl.extra, and conversions of
// 8-bit floats.
const std::array features{
    Feature{"inline PTX", {"asm", "extra", "float8", "fp8", "libdevice", "globaltimer", "smid", "gdc_"}},
    Feature{"inline_asm", {"asm", "extra", "float8", "fp8", "libdevice", "globaltimer", "smid", "gdc_"}},
    Feature{"external function", {"libdevice", "extern_elementwise", "extra", "math"}},
    Feature{"extern_elementwise", {"libdevice", "extern_elementwise", "extra", "math"}},
    Feature{"mulhi", {"mulhi", "mul64hi", "libdevice"}},
    Feature{"tl.map_elementwise", {"map_elementwise"}},
    Feature{"tensor descriptors", {"descriptor"}},
    Feature{"tl.dot_scaled", {"dot_scaled"}},
    Feature{"atomics other than add", {"atomic_"}},
    Feature{"Gluon", {"gluon"}},
    Feature{"CUDA graphs", {"graph"}},
    Feature{"CUDA C++", {"compile_kernel", "load_inline", "cpp_extension"}},
    Feature{"load_inline", {"load_inline", "cpp_extension"}},
    Feature{"torch C++ extensions", {"cpp_extension"}},
    Feature{"kernel.warmup", {"warmup"}},
};

// Modules whose features are in the table: Python's own, of all supported versions, three libraries, and this
// package, which has none.
constexpr std::array known_modules{"abc"sv,
                                   "aifc"sv,
                                   "annotationlib"sv,
                                   "antigravity"sv,
                                   "argparse"sv,
                                   "array"sv,
                                   "ast"sv,
                                   "asynchat"sv,
                                   "asyncio"sv,
                                   "asyncore"sv,
                                   "atexit"sv,
                                   "audioop"sv,
                                   "base64"sv,
                                   "bdb"sv,
                                   "binascii"sv,
                                   "bisect"sv,
                                   "builtins"sv,
                                   "bz2"sv,
                                   "cProfile"sv,
                                   "calendar"sv,
                                   "cgi"sv,
                                   "cgitb"sv,
                                   "chunk"sv,
                                   "cmath"sv,
                                   "cmd"sv,
                                   "code"sv,
                                   "codecs"sv,
                                   "codeop"sv,
                                   "collections"sv,
                                   "colorsys"sv,
                                   "compileall"sv,
                                   "compression"sv,
                                   "concurrent"sv,
                                   "configparser"sv,
                                   "contextlib"sv,
                                   "contextvars"sv,
                                   "copy"sv,
                                   "copyreg"sv,
                                   "crypt"sv,
                                   "csv"sv,
                                   "ctypes"sv,
                                   "curses"sv,
                                   "dataclasses"sv,
                                   "datetime"sv,
                                   "dbm"sv,
                                   "decimal"sv,
                                   "difflib"sv,
                                   "dis"sv,
                                   "distutils"sv,
                                   "doctest"sv,
                                   "email"sv,
                                   "encodings"sv,
                                   "ensurepip"sv,
                                   "enum"sv,
                                   "errno"sv,
                                   "faulthandler"sv,
                                   "fcntl"sv,
                                   "filecmp"sv,
                                   "fileinput"sv,
                                   "fnmatch"sv,
                                   "fractions"sv,
                                   "ftplib"sv,
                                   "functools"sv,
                                   "gc"sv,
                                   "genericpath"sv,
                                   "getopt"sv,
                                   "getpass"sv,
                                   "gettext"sv,
                                   "glob"sv,
                                   "graphlib"sv,
                                   "grp"sv,
                                   "gzip"sv,
                                   "hashlib"sv,
                                   "heapq"sv,
                                   "hmac"sv,
                                   "html"sv,
                                   "http"sv,
                                   "idlelib"sv,
                                   "imaplib"sv,
                                   "imghdr"sv,
                                   "imp"sv,
                                   "importlib"sv,
                                   "inspect"sv,
                                   "io"sv,
                                   "ipaddress"sv,
                                   "itertools"sv,
                                   "json"sv,
                                   "kernelwright"sv,
                                   "keyword"sv,
                                   "lib2to3"sv,
                                   "linecache"sv,
                                   "locale"sv,
                                   "logging"sv,
                                   "lzma"sv,
                                   "mailbox"sv,
                                   "mailcap"sv,
                                   "marshal"sv,
                                   "math"sv,
                                   "mimetypes"sv,
                                   "mmap"sv,
                                   "modulefinder"sv,
                                   "msilib"sv,
                                   "msvcrt"sv,
                                   "multiprocessing"sv,
                                   "netrc"sv,
                                   "nis"sv,
                                   "nntplib"sv,
                                   "nt"sv,
                                   "ntpath"sv,
                                   "nturl2path"sv,
                                   "numbers"sv,
                                   "opcode"sv,
                                   "operator"sv,
                                   "optparse"sv,
                                   "os"sv,
                                   "ossaudiodev"sv,
                                   "pathlib"sv,
                                   "pdb"sv,
                                   "pickle"sv,
                                   "pickletools"sv,
                                   "pipes"sv,
                                   "pkgutil"sv,
                                   "platform"sv,
                                   "plistlib"sv,
                                   "poplib"sv,
                                   "posix"sv,
                                   "posixpath"sv,
                                   "pprint"sv,
                                   "profile"sv,
                                   "pstats"sv,
                                   "pty"sv,
                                   "pwd"sv,
                                   "py_compile"sv,
                                   "pyclbr"sv,
                                   "pydoc"sv,
                                   "pydoc_data"sv,
                                   "pyexpat"sv,
                                   "queue"sv,
                                   "quopri"sv,
                                   "random"sv,
                                   "re"sv,
                                   "readline"sv,
                                   "reprlib"sv,
                                   "resource"sv,
                                   "rlcompleter"sv,
                                   "runpy"sv,
                                   "sched"sv,
                                   "secrets"sv,
                                   "select"sv,
                                   "selectors"sv,
                                   "shelve"sv,
                                   "shlex"sv,
                                   "shutil"sv,
                                   "signal"sv,
                                   "site"sv,
                                   "smtpd"sv,
                                   "smtplib"sv,
                                   "sndhdr"sv,
                                   "socket"sv,
                                   "socketserver"sv,
                                   "spwd"sv,
                                   "sqlite3"sv,
                                   "sre_compile"sv,
                                   "sre_constants"sv,
                                   "sre_parse"sv,
                                   "ssl"sv,
                                   "stat"sv,
                                   "statistics"sv,
                                   "string"sv,
                                   "stringprep"sv,
                                   "struct"sv,
                                   "subprocess"sv,
                                   "sunau"sv,
                                   "symtable"sv,
                                   "sys"sv,
                                   "sysconfig"sv,
                                   "syslog"sv,
                                   "tabnanny"sv,
                                   "tarfile"sv,
                                   "telnetlib"sv,
                                   "tempfile"sv,
                                   "termios"sv,
                                   "textwrap"sv,
                                   "this"sv,
                                   "threading"sv,
                                   "time"sv,
                                   "timeit"sv,
                                   "tkinter"sv,
                                   "token"sv,
                                   "tokenize"sv,
                                   "tomllib"sv,
                                   "trace"sv,
                                   "traceback"sv,
                                   "tracemalloc"sv,
                                   "tty"sv,
                                   "turtle"sv,
                                   "turtledemo"sv,
                                   "types"sv,
                                   "typing"sv,
                                   "unicodedata"sv,
                                   "unittest"sv,
                                   "urllib"sv,
                                   "uu"sv,
                                   "uuid"sv,
                                   "venv"sv,
                                   "warnings"sv,
                                   "wave"sv,
                                   "weakref"sv,
                                   "webbrowser"sv,
                                   "winreg"sv,
                                   "winsound"sv,
                                   "wsgiref"sv,
                                   "xdrlib"sv,
                                   "xml"sv,
                                   "xmlrpc"sv,
                                   "zipapp"sv,
                                   "zipfile"sv,
                                   "zipimport"sv,
                                   "zlib"sv,
                                   "zoneinfo"sv,
                                   "numpy"sv,
                                   "torch"sv,
                                   "triton"sv};

bool is_known(std::string_view path) {
  const std::string_view module = path.substr(0, path.find('.'));
  return module.starts_with('_') || std::ranges::find(known_modules, module) != known_modules.end();
}

bool imports_another_package(syntax::Node node) {
  if (node.is("import_from_statement")) return !is_known(node.field("module_name").text());
  if (!node.is("import_statement")) return false;
  return std::ranges::any_of(node.named_children(), [](syntax::Node name) {
    return !is_known((name.is("aliased_import") ? name.field("name") : name).text());
  });
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// "n_regs" of "compiled kernel handles (.n_regs)".
std::string fact_of_handle(std::string_view reported) {
  constexpr std::string_view before = "compiled kernel handles (.";
  const std::size_t at = reported.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view name = reported.substr(at + before.size());
  return in_lower_case(name.substr(0, name.find(')')));
}

std::vector<std::string> words_of(std::string_view reported) {
  std::vector<std::string> words;
  for (const Feature& feature : features)
    if (reported.contains(feature.reported))
      words.insert(words.end(), feature.words.begin(), feature.words.end());
  if (std::string fact = fact_of_handle(reported); !fact.empty()) words.push_back(std::move(fact));
  return words;
}

bool contains_node(std::string_view code, const std::function<bool(syntax::Node)>& is_it) {
  syntax::Tree tree(code);
  if (tree.is_null()) return false;
  bool found = false;
  syntax::walk(tree.root(), [&](syntax::Node node) {
    found = found || is_it(node);
    return !found;
  });
  return found;
}

}  // namespace

bool may_use(std::string_view code, std::string_view reported) {
  const std::vector<std::string> words = words_of(reported);
  if (words.empty()) return false;
  return contains_node(code, [&](syntax::Node node) {
    if (!node.is("identifier") && !node.is("string")) return imports_another_package(node);
    const std::string text = in_lower_case(node.text());
    return std::ranges::any_of(words, [&](const std::string& word) { return text.contains(word); });
  });
}

bool may_loop(std::string_view code) {
  return contains_node(code, [](syntax::Node node) {
    return node.is("for_statement") || node.is("while_statement") || imports_another_package(node);
  });
}

}  // namespace kw
