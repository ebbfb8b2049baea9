#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "dataset.h"
#include "deploy.h"
#include "doctor.h"
#include "export.h"
#include "models.h"
#include "options/config.h"
#include "recording.h"
#include "run.h"
#include "score.h"
#include "serve.h"
#include "train.h"
#include "verify.h"
#include "version.h"

namespace {

constexpr int usage = 2;

// Leaves the parser's notation out of --help: "{false}" after the name of a flag that negates, TEXT after a
// positional's name, and the number of values in the usage line.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return CLI::detail::find_and_replace(name, "{false}", "");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional()) return option->get_expected_max() > 1 ? " ..." : "";
    return CLI::Formatter::make_option_opts(option);
  }

  std::string make_option_usage(const CLI::Option* option) const override {
    std::string name = make_option_name(option, true);
    if (option->get_expected_max() > 1) name += "...";
    return option->get_required() ? name : fmt::format("[{}]", name);
  }
};

int main_verb(int argc, char** argv) {
  CLI::App app{
      "Lets models write GPU kernels and judges the kernels against PyTorch: correctness, speed, cheating.",
      "kernelwright"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("-V,--version", fmt::format("kernelwright {}", kw_version));
  app.require_subcommand(1);
  app.footer("`kernelwright VERB --help` lists the options of a verb.");

  kw::app::VerifyFlags verify;
  CLI::App* verify_verb = app.add_subcommand("verify", "Judge candidates against their references");
  verify.add(*verify_verb);
  kw::add_config(*verify_verb);

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

  kw::ExportFlags export_flags;
  CLI::App* export_verb = app.add_subcommand("export", "Export a run as training files");
  export_flags.add(*export_verb);

  kw::app::DatasetFlags dataset;
  CLI::App* dataset_verb =
      app.add_subcommand("dataset", "Make training data from package trees: build, dedup, audit, export");
  dataset.add(*dataset_verb);

  kw::app::TrainFlags train;
  CLI::App* train_verb =
      app.add_subcommand("train", "Fine-tune an adapter on rows (QLoRA), or merge it into its model");
  train.add(*train_verb);
  kw::add_config(*train_verb);

  kw::DeployFlags deploy;
  CLI::App* deploy_verb = app.add_subcommand("deploy", "Deploy the service to a Ray cluster or to Modal");
  deploy.add(*deploy_verb);

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

  try {
    kw::parse_arguments(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage;
  }
  if (verify_verb->parsed()) return kw::app::verify(verify, *verify_verb);
  if (run_verb->parsed()) return kw::app::run(run, *run_verb);
  if (score_verb->parsed()) return kw::app::score(score, *score_verb);
  if (serve_verb->parsed()) return kw::app::serve(serve);
  if (export_verb->parsed()) return kw::app::export_run(export_flags);
  if (dataset_verb->parsed()) return kw::app::dataset(dataset, *dataset_verb);
  if (train_verb->parsed()) return kw::app::train(train, *train_verb);
  if (deploy_verb->parsed()) return kw::app::deploy(deploy, *deploy_verb);
  if (models_verb->parsed()) return kw::app::models(models);
  if (recording_verb->parsed()) return kw::app::show_recording(recording);
  return kw::app::doctor(doctor);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_verb(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
