// Lists, reads through once, compares with what the configuration says, and carves.
#include "engine/data/stored/stored_dataset.h"

#include <algorithm>
#include <numeric>

#include "core/base/data_copies.h"
#include "engine/base/failure.h"
#include "engine/base/random.h"
#include "engine/data/stored/stored_source.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

// Of the 1,281,167 training images of ImageNet-1K, by channel.
const Normalization kImageNet{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

Json texts(const Problems& problems) { return problems.first(); }

class StoredDataset : public Dataset {
 public:
  StoredDataset(StoredLayout layout, const DataPlace& place)
      : layout_(std::move(layout)),
        folder_(place.root / layout_.folder),
        cache_(place.cache),
        decoded_bytes_(place.decoded_bytes) {}

  void prepare(const DataProgress& progress) override {
    if (manifest_) return;
    auto manifest = std::make_shared<const ImageManifest>(read(/*again=*/false, progress));
    refuse_problems(*manifest);
    const std::string digest = manifest->digest();
    remember(*manifest, digest);
    if (const std::string why = difference(*manifest, digest); !why.empty()) throw DataError(why);
    digest_ = digest;
    manifest_ = std::move(manifest);
  }

  std::shared_ptr<const Source> split(std::string_view name) override {
    if (name != "train" && name != "validation" && name != "test")
      throw std::invalid_argument("no split '" + std::string(name) + "': there are train, validation and test");
    prepare({});
    auto& source = splits_[std::string(name)];
    if (!source)
      source =
          stored_source(folder_, manifest_, format_, part_of_split(name), rows_of(name), decoded(part_of_split(name)));
    return source;
  }

  const Normalization& normalization() const override { return kImageNet; }

  std::vector<std::string> class_names() const override {
    return manifest_ ? manifest_->classes : std::vector<std::string>();
  }

  Json used() const override {
    Json out = {{"manifest", digest_}};
    if (manifest_ && manifest_->problems.count() > 0) out["left_out"] = manifest_->problems.count();
    return out;
  }

  CopyReport examine(const DataProgress& progress) override {
    const ImageManifest found = read(/*again=*/true, progress);
    CopyReport out;
    out.digest = found.digest();
    out.classes = classes_of(found);
    out.bytes = found.bytes();
    for (const auto& [part, images] : found.parts) out.images[part] = static_cast<std::int64_t>(images.size());
    Problems problems = found.misfits;
    for (const std::string& one : found.problems.first()) problems.add(one);
    out.problems = texts(problems);
    out.problem_count = found.misfits.count() + found.problems.count();
    out.passed_over = texts(found.passed_over);
    out.passed_over_count = found.passed_over.count();
    out.turned = found.turned;
    out.differs = difference(found, out.digest);
    if (out.problem_count == 0 || layout_.skip) remember(found, out.digest);
    return out;
  }

 private:
  ImageManifest read(bool again, const DataProgress& progress) {
    for (const std::string& name : layout_.places) {
      if (fs::exists(folder_ / name)) continue;
      throw DataError("dataset " + layout_.dataset + ": " + (folder_ / name).string() + " is missing; " + layout_.get +
                      ", or point --data-root at a folder that holds " + layout_.folder + "/");
    }
    Listing listing = layout_.list(folder_);
    for (const std::string& part : {layout_.train, layout_.validation, layout_.test}) {
      if (!part.empty() && !listing.parts.contains(part))
        throw DataError("dataset " + layout_.dataset + ": " + folder_.string() + " has no part '" + part + "'");
    }
    format_ = layout_.format ? layout_.format(folder_) : std::make_shared<const StoredFormat>();
    return read_through(folder_, std::move(listing), {.cache = cache_, .again = again, .format = format_.get()},
                        progress);
  }

  void refuse_problems(const ImageManifest& found) const {
    if (found.misfits.count() > 0) throw DataError("dataset " + layout_.dataset + ": " + found.misfits.text());
    if (found.problems.count() == 0 || layout_.skip) return;
    throw DataError("dataset " + layout_.dataset + ": " + std::to_string(found.problems.count()) +
                    " of its files are no sound images: " + found.problems.text() +
                    "; put them in order, or leave them out with the dataset's option corrupt: skip");
  }

  std::int64_t images_of(const ImageManifest& found, const std::string& part) const {
    const auto images = found.parts.find(part);
    return images == found.parts.end() ? 0 : static_cast<std::int64_t>(images->second.size());
  }

  // Named ones, else as many as the labels tell apart.
  std::int64_t classes_of(const ImageManifest& found) const {
    if (!found.classes.empty()) return static_cast<std::int64_t>(found.classes.size());
    if (!layout_.labeled) return layout_.classes;
    std::int64_t most = -1;
    for (const auto& [part, images] : found.parts) {
      for (const ManifestImage& image : images) most = std::max(most, image.label);
    }
    return most + 1;
  }

  // What the copy has that the configuration says otherwise, and what to write; empty: they agree.
  std::string difference(const ImageManifest& found, const std::string& digest) const {
    if (const std::string why = wrong_images(found); !why.empty()) return why;
    const bool named = !found.classes.empty();
    const std::int64_t classes = classes_of(found), train = images_of(found, layout_.train);
    const std::int64_t carved = layout_.validation.empty() ? layout_.sizes.validation : 0;
    const std::int64_t validation = layout_.validation.empty() ? carved : images_of(found, layout_.validation);
    const Json there = {{"classes", named || classes > layout_.classes ? classes : layout_.classes},
                        {"train", train - carved},
                        {"validation", validation},
                        {"test", images_of(found, layout_.test)}};
    const Json wanted = {{"classes", layout_.classes},
                         {"train", layout_.sizes.train},
                         {"validation", layout_.sizes.validation},
                         {"test", layout_.sizes.test}};
    const bool other = !layout_.manifest.empty() && layout_.manifest != digest;
    if (there == wanted && !other) return "";
    return "dataset " + layout_.dataset + ": the copy in " + folder_.string() + " has " + counts(there) +
           " and the manifest " + digest + " where the specification says " + counts(wanted) +
           (layout_.manifest.empty() ? "" : " and the manifest " + layout_.manifest) +
           ": it is another version; for this copy write `dataset: {" + layout_.dataset + ": " +
           suggestion(there, digest) + "}`";
  }

  // A label beyond the classes, an image of another size than all must have.
  std::string wrong_images(const ImageManifest& found) const {
    for (const auto& [part, images] : found.parts) {
      for (const ManifestImage& image : images) {
        if (found.classes.empty() && layout_.classes > 0 && image.label >= layout_.classes) {
          return "dataset " + layout_.dataset + ": " + (folder_ / image.name).string() + " has the label " +
                 std::to_string(image.label) + ", and there are " + std::to_string(layout_.classes) +
                 " classes; correct it, or write how many there are with the dataset's option classes";
        }
        if (layout_.extent && Extent{image.height, image.width} != *layout_.extent) {
          return "dataset " + layout_.dataset + ": " + (folder_ / image.name).string() + " has " +
                 std::to_string(image.height) + " x " + std::to_string(image.width) + " pixels where all have " +
                 std::to_string((*layout_.extent)[0]) + " x " + std::to_string((*layout_.extent)[1]);
        }
      }
    }
    return "";
  }

  static std::string counts(const Json& numbers) {
    return std::to_string(numbers.at("classes").get<std::int64_t>()) + " classes, " +
           std::to_string(numbers.at("train").get<std::int64_t>()) + " training, " +
           std::to_string(numbers.at("validation").get<std::int64_t>()) + " validation and " +
           std::to_string(numbers.at("test").get<std::int64_t>()) + " test images";
  }

  // Of the options that the dataset has, those that would be other numbers, and the manifest.
  std::string suggestion(const Json& there, const std::string& digest) const {
    std::string out;
    const auto add = [&](const std::string& name, const std::string& value) {
      out += (out.empty() ? "{" : ", ") + name + ": " + value;
    };
    for (const auto& [name, value] : layout_.said.items()) {
      if (name == "manifest") {
        add(name, digest);
      } else if (there.contains(name)) {
        add(name, there.at(name).dump());
      } else if (name == "corrupt" ? layout_.skip : value.is_string() && name != "order" && name != "holdout") {
        add(name, value.dump());
      }
    }
    return out + "}";
  }

  void remember(const ImageManifest& found, const std::string& digest) const {
    DataCopy copy{layout_.dataset,
                  fs::absolute(folder_).lexically_normal(),
                  digest,
                  layout_.places,
                  stamp_of(folder_, layout_.places),
                  classes_of(found),
                  {}};
    for (const auto& [part, images] : found.parts) copy.images[part] = static_cast<std::int64_t>(images.size());
    remember_copy(cache_, copy);
  }

  // Kept for all splits of the part; null where nothing is kept.
  std::shared_ptr<DecodedImages> decoded(const std::string& part) {
    if (decoded_bytes_ <= 0 || cache_.empty()) return nullptr;
    auto& kept = decoded_[part];
    if (kept) return kept;
    std::vector<ImageSize> sizes;
    for (const ManifestImage& image : manifest_->parts.at(part)) sizes.push_back({image.height, image.width});
    kept = DecodedImages::open(cache_ / "decoded", digest_ + " " + part, sizes, decoded_bytes_);
    return kept;
  }

  const std::string& part_of_split(std::string_view name) const {
    if (name == "test") return layout_.test;
    return name == "validation" && !layout_.validation.empty() ? layout_.validation : layout_.train;
  }

  std::vector<std::int64_t> rows_of(std::string_view name) const {
    std::vector<std::int64_t> all(manifest_->parts.at(part_of_split(name)).size());
    std::iota(all.begin(), all.end(), 0);
    if (name == "test" || !layout_.validation.empty()) return all;
    CarvedRows carved =
        carve(layout_.dataset, static_cast<std::int64_t>(all.size()), layout_.sizes.validation, layout_.holdout);
    return name == "train" ? std::move(carved.train) : std::move(carved.validation);
  }

  const StoredLayout layout_;
  const fs::path folder_, cache_;
  const std::int64_t decoded_bytes_;
  std::shared_ptr<const StoredFormat> format_;
  std::shared_ptr<const ImageManifest> manifest_;  // null: not read through
  std::string digest_;
  std::map<std::string, std::shared_ptr<const Source>> splits_;
  std::map<std::string, std::shared_ptr<DecodedImages>> decoded_;  // by part
};

}  // namespace

CarvedRows carve(std::string_view dataset, std::int64_t rows, std::int64_t wanted, Holdout holdout) {
  if (wanted < 0 || (wanted >= rows && wanted > 0)) {
    throw std::invalid_argument("of " + std::to_string(rows) + " training images " + std::to_string(wanted) +
                                " cannot be held out for validation");
  }
  std::vector<bool> held(static_cast<std::size_t>(rows));
  if (holdout == Holdout::kStride) {
    for (std::int64_t i = 0; i < wanted; ++i) held[static_cast<std::size_t>(i * (rows / wanted))] = true;
  } else if (wanted > 0) {
    const Tensor order = RandomStreams(0).permutation(kSubset, std::string(dataset) + "/validation", 0, rows);
    const auto* row = order.const_data_ptr<std::int64_t>();
    const std::int64_t first = holdout == Holdout::kFirst ? 0 : rows - wanted;
    for (std::int64_t i = first; i < first + wanted; ++i) held[static_cast<std::size_t>(row[i])] = true;
  }
  CarvedRows out;
  for (std::int64_t row = 0; row < rows; ++row)
    (held[static_cast<std::size_t>(row)] ? out.validation : out.train).push_back(row);
  return out;
}

std::shared_ptr<Dataset> open_stored_dataset(StoredLayout layout, const DataPlace& place) {
  return std::make_shared<StoredDataset>(std::move(layout), place);
}

}  // namespace locus::engine
