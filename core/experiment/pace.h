// How long stages are expected to take, by those that ran. Never invents: without a run to go by it says nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/catalog/catalog.h"
#include "core/experiment/load.h"

namespace locus {

// What an estimate goes by.
enum class Basis {
  kSameSetting,  // runs of the very configuration, with whatever seed
  kSameSize,     // runs of other settings with the same model sizes, data and batch
};
const char* to_string(Basis);  // "same-setting", "same-size"

struct ExpectedTime {
  double seconds = 0;
  Basis basis = Basis::kSameSetting;
  int runs = 0;        // the median is over these
  std::string device;  // that they ran on: "cpu", "cuda"
  bool operator==(const ExpectedTime&) const = default;
};

// The median seconds a step of training, an image scored or a whole other stage, of runs of one load on one kind of
// device; times how many there are to do. Startup, validation and checkpoints are in a run's time and so in its pace.
// Thread-compatible. `catalog` must outlive it.
class Paces {
 public:
  // `devices`: the kinds that may run the stages, the likeliest first. A run on another tells nothing; with none
  // named every run does.
  Paces(const Catalog& catalog, std::vector<std::string> devices) : catalog_(catalog), devices_(std::move(devices)) {}

  // The runs of one load, newest first.
  void add(const std::string& load, const std::vector<PastRun>& runs);

  // Runs of the same setting win over those of the same size, on whatever device.
  std::optional<ExpectedTime> of(const std::string& kind, const std::string& config_json);

  // How many steps or images a stage counts; 1 for a kind that counts neither, nothing where the catalog does not say.
  std::optional<double> amount(const std::string& kind, const std::string& config_json);

 private:
  using Seconds = std::vector<double>;  // of one unit, by run
  struct OnDevice {
    Seconds all;
    std::unordered_map<std::string, Seconds> by_setting;
  };

  const Catalog& catalog_;
  std::vector<std::string> devices_;
  std::map<std::string, std::map<std::string, OnDevice>> loads_;  // by load, by device
  std::unordered_map<std::string, std::optional<double>> amounts_;
};

// A trial's stages follow each other; trials run side by side on so many slots, in order.
double makespan(const std::vector<double>& trials, int slots);

}  // namespace locus
