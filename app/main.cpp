#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "certify.h"
#include "completion.h"
#include "dataset.h"
#include "deploy.h"
#include "doctor.h"
#include "explain.h"
#include "export.h"
#include "man.h"
#include "mcp.h"
#include "models.h"
#include "new.h"
#include "options/config.h"
#include "options/help.h"
#include "options/parse.h"
#include "options/verb_table.h"
#include "output/output_file.h"
#include "recording.h"
#include "report.h"
#include "run.h"
#include "score.h"
#include "serve.h"
#include "session.h"
#include "train.h"
#include "verify.h"
#include "version.h"
#include "view.h"

namespace {

constexpr int usage = 2;

// Every verb that has an option with a value reads options from a file. The variable KERNELWRIGHT_CONFIG sets
// the file of those verbs alone that called add_config() themselves: others do not know the keys of a run.
void add_config_to_all(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    bool has_values = std::ranges::any_of(verb->get_options(), [](const CLI::Option* option) {
      return option->nonpositional() && !kw::is_flag(*option);
    });
    if (has_values && verb->get_option_no_throw("--config") == nullptr) kw::add_config(*verb)->envname("");
    add_config_to_all(*verb);
  }
}

// Adds the names of all verbs, for the completion of `help`.
void add_verb_names(const CLI::App& app, std::set<std::string>& names) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.insert(verb->get_name());
    add_verb_names(*verb, names);
  }
}

int print_help(const CLI::App& app, const std::vector<std::string>& words) {
  auto verb = kw::find_verb(app, words);
  if (!verb) {
    kw::app::complain(verb.error());
    return usage;
  }
  fmt::print("{}", (*verb)->get_formatter()->make_help(*verb, "", CLI::AppFormatMode::Normal));
  return 0;
}

int main_verb(int argc, char** argv) {
  CLI::App app{
      "Lets models write GPU kernels and judges the kernels against PyTorch: correctness, speed, cheating.",
      "kernelwright"};
  app.formatter(std::make_shared<kw::HelpFormatter>());
  app.set_help_flag("-h,--help", "print this help and exit");
  app.set_version_flag("-V,--version", fmt::format("kernelwright {}", kw_version),
                       "print the version and exit");
  app.require_subcommand(1);

  kw::app::VerifyFlags verify;
  CLI::App* verify_verb = app.add_subcommand("verify", "Judge candidates against their references");
  verify.add(*verify_verb);
  kw::add_config(*verify_verb);

  kw::CertifyFlags certify;
  CLI::App* certify_verb = app.add_subcommand(
      "certify", "Examine the tasks of a benchmark: can they tell a right kernel from an empty one?");
  certify.add(*certify_verb);
  kw::add_config(*certify_verb);

  kw::app::RunFlags run;
  CLI::App* run_verb =
      app.add_subcommand("run", "Let a model solve tasks over several turns and record the traces");
  run.add(*run_verb);
  kw::add_config(*run_verb);

  kw::app::ScoreOptions score;
  CLI::App* score_verb = app.add_subcommand("score", "Compute metrics of outputs or of a model's answers");
  score.add(*score_verb);
  kw::add_config(*score_verb);

  kw::app::ServeOptions serve;
  CLI::App* serve_verb = app.add_subcommand("serve", "Serve verdicts over HTTP");
  serve.add(*serve_verb);
  kw::add_config(*serve_verb);

  kw::McpFlags mcp;
  CLI::App* mcp_verb =
      app.add_subcommand("mcp", "Serve the verifier to coding agents: Model Context Protocol");
  mcp.add(*mcp_verb);
  kw::add_config(*mcp_verb);

  kw::ExportFlags export_flags;
  CLI::App* export_verb = app.add_subcommand("export", "Export a run as training files, or tasks for Harbor");
  export_flags.add(*export_verb);

  kw::ReportFlags report;
  CLI::App* report_verb =
      app.add_subcommand("report", "Write runs, verdicts, scores and data sets as one page, or sum them up");
  report.add(*report_verb);

  kw::ViewFlags view;
  CLI::App* view_verb =
      app.add_subcommand("view", "Serve the page of a report, live, with search and human review");
  view.add(*view_verb);

  kw::app::DatasetFlags dataset;
  CLI::App* dataset_verb = app.add_subcommand(
      "dataset", "Make training data from package trees: discover, build, dedup, audit, export");
  dataset.add(*dataset_verb);

  kw::app::TrainFlags train;
  CLI::App* train_verb =
      app.add_subcommand("train", "Fine-tune an adapter on rows (QLoRA), or merge it into its model");
  train.add(*train_verb);
  kw::add_config(*train_verb);

  kw::DeployFlags deploy;
  CLI::App* deploy_verb = app.add_subcommand("deploy", "Deploy the service to a Ray cluster or to Modal");
  deploy.add(*deploy_verb);

  kw::app::ExplainFlags explain;
  CLI::App* explain_verb =
      app.add_subcommand("explain", "Explain a word of a verdict, or the verdicts of a file");
  explain.add(*explain_verb);

  kw::app::ModelsOptions models;
  CLI::App* models_verb = app.add_subcommand("models", "Print launch commands and scripts of model servers");
  kw::app::add_models(*models_verb, models);

  kw::app::RecordingOptions recording;
  CLI::App* recording_verb =
      app.add_subcommand("recording", "Print a recording of the device work of a call");
  kw::app::add_recording(*recording_verb, recording);

  kw::app::DoctorOptions doctor;
  CLI::App* doctor_verb =
      app.add_subcommand("doctor", "Check this machine or a model server and suggest fixes");
  kw::app::add_doctor(*doctor_verb, doctor);

  kw::app::NewFlags new_flags;
  CLI::App* new_verb = app.add_subcommand("new", "Write a reference and a Triton kernel to begin with");
  new_flags.add(*new_verb);

  kw::app::Shell shell = kw::app::Shell::bash;
  CLI::App* completion_verb =
      app.add_subcommand("completion", "Print the completion script of a shell: bash, zsh or fish");
  kw::add_word<kw::app::Shell>(*completion_verb, "SHELL", shell, "bash, zsh or fish")->required();

  CLI::App* man_verb = app.add_subcommand("man", "Print the manual page in roff");

  std::vector<std::string> help_words;
  CLI::App* help_verb = app.add_subcommand("help", "Describe a verb, as its --help does");
  CLI::Option* help_option =
      help_verb->add_option("VERB", help_words, "a verb, and one of its verbs: `help dataset build`");

  add_config_to_all(app);
  std::set<std::string> names;
  add_verb_names(app, names);
  kw::with_words(help_option, {names.begin(), names.end()});

  try {
    kw::parse_arguments(app, argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    kw::app::complain(kw::usage_error(app, error));
    return usage;
  }
  if (new_verb->parsed()) return kw::app::new_pair(new_flags);
  if (help_verb->parsed()) return print_help(app, help_words);
  if (man_verb->parsed()) {
    fmt::print("{}", kw::app::man_page(kw::verb_info(app), kw_version));
    return 0;
  }
  if (completion_verb->parsed()) {
    fmt::print("{}", kw::app::completion_script(shell, kw::verb_info(app)));
    return 0;
  }
  if (verify_verb->parsed()) return kw::app::verify(verify, *verify_verb);
  if (certify_verb->parsed()) return kw::app::certify(certify);
  if (run_verb->parsed()) return kw::app::run(run, *run_verb);
  if (score_verb->parsed()) return kw::app::score(score, *score_verb);
  if (serve_verb->parsed()) return kw::app::serve(serve);
  if (mcp_verb->parsed()) return kw::app::mcp(mcp, *mcp_verb);
  if (export_verb->parsed()) return kw::app::export_run(export_flags);
  if (report_verb->parsed()) return kw::app::report(report);
  if (view_verb->parsed()) return kw::app::view(view);
  if (dataset_verb->parsed()) return kw::app::dataset(dataset, *dataset_verb);
  if (train_verb->parsed()) return kw::app::train(train, *train_verb);
  if (deploy_verb->parsed()) return kw::app::deploy(deploy, *deploy_verb);
  if (explain_verb->parsed()) return kw::app::explain(explain);
  if (models_verb->parsed()) return kw::app::models(models);
  if (recording_verb->parsed()) return kw::app::show_recording(recording);
  return kw::app::doctor(doctor);
}

}  // namespace

int main(int argc, char** argv) {
  kw::hold_standard_streams();
  try {
    return kw::finished(main_verb(argc, argv));
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0)
      std::fprintf(stderr, "error: %s\n", error.what());
    else
      std::fprintf(stderr, "error: cannot write standard output: %s\n", error.code().message().c_str());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
