#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "config/config.h"
#include "dataset.h"
#include "deploy.h"
#include "doctor.h"
#include "export.h"
#include "models.h"
#include "recording.h"
#include "run.h"
#include "score.h"
#include "serve.h"
#include "train.h"
#include "verify.h"
#include "version.h"

namespace {

constexpr int usage = 2;

int main_verb(int argc, char** argv) {
  CLI::App app{"Has models write GPU kernels, and judges them against PyTorch: right, fast, honest.",
               "kernelwright"};
  app.set_version_flag("--version", kw_version);
  app.require_subcommand(1);
  app.footer("`kernelwright VERB --help` tells what a verb takes.");

  kw::app::VerifyFlags verify;
  CLI::App* verify_verb = app.add_subcommand("verify", "Candidates in, verdicts out");
  verify.add(*verify_verb);
  kw::add_config(*verify_verb);

  kw::app::RunFlags run;
  CLI::App* run_verb = app.add_subcommand("run", "A model in the loop: tasks in, traces out");
  run.add(*run_verb);
  kw::add_config(*run_verb);

  kw::app::ScoreOptions score;
  CLI::App* score_verb = app.add_subcommand("score", "Outputs, or a model's answers, into figures to trust");
  score.add(*score_verb);
  kw::add_config(*score_verb);

  kw::app::ServeOptions serve;
  CLI::App* serve_verb = app.add_subcommand("serve", "Verdicts over HTTP, for many clients");
  serve.add(*serve_verb);
  kw::add_config(*serve_verb);

  kw::ExportFlags export_flags;
  CLI::App* export_verb = app.add_subcommand("export", "A run into files that trainers read");
  export_flags.add(*export_verb);

  kw::app::DatasetFlags dataset;
  CLI::App* dataset_verb =
      app.add_subcommand("dataset", "Package trees into a training set: build, dedup, audit, export");
  dataset.add(*dataset_verb);

  kw::app::TrainFlags train;
  CLI::App* train_verb = app.add_subcommand("train", "Rows into an adapter: QLoRA, checkpoints, merge");
  train.add(*train_verb);
  kw::add_config(*train_verb);

  kw::DeployFlags deploy;
  CLI::App* deploy_verb = app.add_subcommand("deploy", "The service on a Ray cluster, or on Modal");
  deploy.add(*deploy_verb);

  kw::app::ModelsOptions models;
  CLI::App* models_verb = app.add_subcommand("models", "Model servers: launch lines and scripts");
  kw::app::add_models(*models_verb, models);

  kw::app::RecordingOptions recording;
  CLI::App* recording_verb = app.add_subcommand("recording", "The device work of a call: look into a file");
  kw::app::add_recording(*recording_verb, recording);

  kw::app::DoctorOptions doctor;
  CLI::App* doctor_verb =
      app.add_subcommand("doctor", "What this machine can do, what is missing, how to fix it");
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
