#include "options/report_flags.h"

#include "options/parse.h"

namespace kw {

void ReportFlags::add(CLI::App& app) {
  app.add_option(
         "PATH", paths,
         "runs, files of traces or verdicts, scores, data sets or their rows, or a folder that contains "
         "any of these. - is standard input")
      ->required();
  app.add_option("--output,-o", output,
                 "output file: a page F.html, or F.md, F.json, F.csv [the summary alone]")
      ->type_name("F");
  app.add_option("--figures", figures,
                 "also draw figures for papers into this folder: SVG, PNG, data, claims")
      ->type_name("DIR");
  app.add_option(
         "--input", input,
         "the input of `verify` whose verdicts are in PATH: REFERENCE KERNEL, or one file or folder; for "
         "the sources of the candidates")
      ->type_name("PATH")
      ->expected(1, 2);
  const std::string privacy = "Privacy";
  app.add_flag("--redact", redact, "leave out prompts, and replace paths, hosts and keys in all texts")
      ->group(privacy);
  app.add_flag("--include-restricted", include_restricted,
               "include rows under licences that are not permissive")
      ->group(privacy);
  add_parsed<std::uint64_t>(app, "--split-bytes", split_bytes, parse_bytes,
                            "size of the HTML file above which its details are a second file, F.kwdata [64M]")
      ->type_name("SIZE");
  app.add_option("--python", python,
                 "Python with pyarrow for Parquet, and matplotlib for figures [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH");
  app.add_flag("--quiet,-q", quiet, "print errors only");
}

}  // namespace kw
