// Datasets of image files: which rows a copy has, which copy it is, and what is refused of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "engine/data/copies.h"
#include "engine/data/stored/stored_dataset.h"
#include "tests/engine/data/stored_fixture.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Stored : public ::testing::Test {
 protected:
  std::string rows(const std::string& id, const Json& options, const std::string& split) {
    return rows_of(*data_.open(id, options)->split(split));
  }
  StoredData data_;
};

TEST_F(Stored, ClassesAndFilesAreInTheOrderOfTheirBytesFoldersBelowLast) {
  data_.write_imagenet();
  EXPECT_EQ(rows("imagenet-1k", kTwoClasses, "train"), "10/0 20/0 30/0 110/1 120/1");
  EXPECT_EQ(rows("imagenet-1k", kTwoClasses, "test"), "50/0 150/1");
  EXPECT_EQ(data_.open("imagenet-1k", kTwoClasses)->split("validation")->size(), 0);
  EXPECT_THROW(data_.open("imagenet-1k", kTwoClasses)->split("all"), std::invalid_argument);
}

TEST_F(Stored, SamplesHaveTheirOwnSizesWithinTheBytesPromised) {
  data_.write_imagenet();
  const auto train = data_.open("imagenet-1k", kTwoClasses)->split("train");
  EXPECT_EQ(train->read(0).at(kImage).sizes(), (std::vector<std::int64_t>{3, 4, 6}));
  EXPECT_EQ(train->read(4).at(kImage).sizes(), (std::vector<std::int64_t>{3, 5, 7}));
  for (std::int64_t row = 0; row < train->size(); ++row) EXPECT_GE(train->bytes(row), bytes_of(train->read(row)));
  EXPECT_EQ(train->resident(), nullptr);
}

TEST_F(Stored, NaturalOrderTakesDigitsAsNumbers) {
  for (const char* name : {"1", "2", "10"}) {
    data_.write(std::string("mine/train/") + name + "/x.png", png(std::stoi(name)));
    data_.write(std::string("mine/val/") + name + "/x.png", png(std::stoi(name)));
  }
  Json options = {{"folder", "mine"}, {"classes", 3}, {"train", 3}, {"test", 3}, {"manifest", ""}};
  EXPECT_EQ(rows("image-folder", options, "train"), "1/0 10/1 2/2");
  options["order"] = "natural";
  EXPECT_EQ(rows("image-folder", options, "train"), "1/0 2/1 10/2");
  EXPECT_TRUE(before("a2", "a10", NameOrder::kNatural));
  EXPECT_TRUE(before("a1", "a-", NameOrder::kNatural)) << "a number ends the word before it";
  EXPECT_TRUE(before("B", "c", NameOrder::kNatural)) << "without case";
  EXPECT_TRUE(before("a01", "a1", NameOrder::kNatural)) << "equal numbers go by bytes";
  EXPECT_FALSE(before("a2", "a10", NameOrder::kBytes));
}

TEST_F(Stored, AFlatValidationFolderHasTheRowsOfTheSameOneInFolders) {
  data_.write_imagenet();
  std::filesystem::remove_all(data_.root() / "imagenet-1k" / "val");
  data_.write("imagenet-1k/val/v_2.JPEG", jpeg(50));
  data_.write("imagenet-1k/val/v_1.JPEG", jpeg(150));
  EXPECT_THAT(data_.refused("imagenet-1k", kTwoClasses), HasSubstr("there is no table of its labels"));
  data_.write("imagenet-1k/LOC_val_solution.csv", "ImageId,PredictionString\nv_1,b 1 2 3 4 b 5 6 7 8\nv_2,a 0 0 9 9\n");
  EXPECT_EQ(rows("imagenet-1k", kTwoClasses, "test"), "50/0 150/1");
  data_.write("imagenet-1k/ILSVRC2012_val_labels.json", R"({"v_1.JPEG": "a", "v_2.JPEG": "b"})");
  EXPECT_EQ(rows("imagenet-1k", kTwoClasses, "test"), "150/0 50/1");
  data_.write("imagenet-1k/ILSVRC2012_val_labels.json", R"({"v_1.JPEG": "a"})");
  EXPECT_THAT(data_.refused("imagenet-1k", kTwoClasses), HasSubstr("v_2.JPEG is not in the table of labels"));
}

TEST_F(Stored, TheFourPartsOfImageNet100AreOneAfterTheOther) {
  for (const auto& [place, shade] : std::map<std::string, int>{{"train.X2/n1", 20},
                                                               {"train.X1/n3", 30},
                                                               {"train.X4/n2", 40},
                                                               {"train.X3/n1", 50},
                                                               {"val.X/n1", 1},
                                                               {"val.X/n2", 2},
                                                               {"val.X/n3", 3}})
    data_.write("imagenet-100/" + place + "/x.JPEG", png(shade));
  const Json options = {{"classes", 3}, {"train", 4}, {"test", 3}};
  EXPECT_EQ(rows("imagenet-100", options, "train"), "30/2 20/0 50/0 40/1");
  EXPECT_EQ(rows("imagenet-100", options, "test"), "1/0 2/1 3/2");
  EXPECT_THAT(data_.refused("imagenet-100", Json::object()),
              AllOf(HasSubstr("the folder of class n01440764 is missing"), HasSubstr("and ")));
}

TEST_F(Stored, ImageNet100OfCmcTakesItsClassesFromTheFolderOfImageNet) {
  for (const char* name : {"n01558993", "n01440764", "n13040303"}) {
    data_.write(std::string("imagenet-1k/train/") + name + "/x.png", png(name[8] == '3' ? 7 : 9));
    data_.write(std::string("imagenet-1k/val/") + name + "/x.png", png(8));
  }
  const Json options = {{"classes", 2}, {"train", 2}, {"test", 2}};
  EXPECT_EQ(rows("imagenet-100-cmc", options, "train"), "7/0 7/1") << "n01440764 is not among the hundred";
}

TEST_F(Stored, TinyImageNetLabelsBySortedClassAndScoresInTheOrderOfItsAnnotations) {
  const auto small = [](int shade) { return png(shade, 64, 64); };
  data_.write("tiny-imagenet/wnids.txt", "n2\nn1\n");
  data_.write("tiny-imagenet/train/n2/images/n2_0.JPEG", small(20));
  data_.write("tiny-imagenet/train/n1/images/n1_0.JPEG", small(10));
  data_.write("tiny-imagenet/train/n1/n1_boxes.txt", "n1_0.JPEG\t0\t0\t1\t1\n");
  data_.write("tiny-imagenet/val/images/val_0.JPEG", small(2));
  data_.write("tiny-imagenet/val/images/val_1.JPEG", small(1));
  data_.write("tiny-imagenet/val/val_annotations.txt", "val_0.JPEG\tn2\t0\t0\t1\t1\nval_1.JPEG\tn1\t0\t0\t1\t1\n");
  const Json options = {{"classes", 2}, {"train", 2}, {"test", 2}};
  EXPECT_EQ(rows("tiny-imagenet", options, "train"), "10/0 20/1");
  EXPECT_EQ(rows("tiny-imagenet", options, "test"), "2/1 1/0");
  data_.write("tiny-imagenet/val/val_annotations.txt", "val_0.JPEG\tn3\n");
  EXPECT_THAT(data_.refused("tiny-imagenet", options), HasSubstr("val_annotations.txt, line 1: 'val_0.JPEG\tn3'"));
  data_.write("tiny-imagenet/val/val_annotations.txt", "val_0.JPEG\tn2\n");
  data_.write("tiny-imagenet/val/images/val_0.JPEG", png(2, 64, 63));
  EXPECT_THAT(data_.refused("tiny-imagenet", options),
              HasSubstr("val_0.JPEG has 64 x 63 pixels where all have 64 x 64"));
  data_.write("tiny-imagenet/wnids.txt", "n1\n");
  EXPECT_THAT(data_.refused("tiny-imagenet", options), HasSubstr("wnids.txt lists 1 classes"));
}

TEST_F(Stored, ValidationIsHeldOutOfTheTrainingRowsByAFixedPermutationOrAStride) {
  // Another derivation: what both give is a partition, in order, and the stride's rows are 0, s, 2 s, ...
  for (const Holdout how : {Holdout::kPermutation, Holdout::kStride}) {
    const CarvedRows rows = carve("photos", 103, 10, how), again = carve("photos", 103, 10, how);
    EXPECT_EQ(rows.validation, again.validation);
    EXPECT_EQ(rows.validation.size(), 10u);
    std::vector<std::int64_t> all = rows.train;
    all.insert(all.end(), rows.validation.begin(), rows.validation.end());
    EXPECT_TRUE(std::is_sorted(rows.train.begin(), rows.train.end()));
    EXPECT_TRUE(std::is_sorted(rows.validation.begin(), rows.validation.end()));
    std::sort(all.begin(), all.end());
    for (std::int64_t row = 0; row < 103; ++row) EXPECT_EQ(all.at(static_cast<std::size_t>(row)), row);
  }
  EXPECT_EQ(carve("photos", 103, 10, Holdout::kStride).validation,
            (std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
  EXPECT_NE(carve("photos", 103, 10, Holdout::kPermutation).validation,
            carve("birds", 103, 10, Holdout::kPermutation).validation);
  EXPECT_EQ(carve("photos", 3, 0, Holdout::kStride).train.size(), 3u);
  EXPECT_THROW(carve("photos", 3, 3, Holdout::kPermutation), std::invalid_argument);
  // ImageNet's hold-out of every hundredth image.
  const CarvedRows hundredth = carve("imagenet-1k", 1281167, 12811, Holdout::kStride);
  EXPECT_EQ(hundredth.validation.back(), 1281000);
  EXPECT_EQ(hundredth.train.size(), 1268356u);
  data_.write_imagenet();
  const Json options = {{"classes", 2}, {"train", 3}, {"validation", 2}, {"test", 2}, {"holdout", "stride"}};
  EXPECT_EQ(rows("imagenet-1k", options, "validation"), "10/0 30/0");
  EXPECT_EQ(rows("imagenet-1k", options, "train"), "20/0 110/1 120/1");
}

class Vtab : public Stored {
 protected:
  Vtab() {
    for (const auto& [part, count] :
         std::map<std::string, int>{{"train800", 800}, {"val200", 200}, {"train800val200", 1000}, {"test", 3}}) {
      std::string list;
      for (int i = 0; i < count; ++i) {
        char name[32];
        std::snprintf(name, sizeof name, "%06d.jpg", i);
        const std::string path = "images/" + part + "/" + name;
        data_.write("vtab-1k/kitti/" + path, bytes_);
        list += path + " " + std::to_string(i % 4) + "\n";
      }
      data_.write("vtab-1k/kitti/" + part + ".txt", list);
    }
  }
  std::string refused(const std::string& list) {
    data_.write("vtab-1k/kitti/val200.txt", list);
    return data_.refused("vtab-kitti", {{"test", 3}});
  }
  const std::string bytes_ = jpeg(77, 2, 3);
};

TEST_F(Vtab, ChoosesOn800And200AndEndsOn1000) {
  const auto select = data_.open("vtab-kitti", {{"test", 3}});
  EXPECT_EQ(select->split("train")->size(), 800);
  EXPECT_EQ(select->split("validation")->size(), 200);
  EXPECT_EQ(rows_of(*select->split("test")), "77/0 77/1 77/2");
  const auto last = data_.open("vtab-kitti", {{"test", 3}, {"protocol", "final"}});
  EXPECT_EQ(last->split("train")->size(), 1000);
  EXPECT_EQ(last->split("validation")->size(), 0);
  EXPECT_EQ(last->used(), select->used()) << "it is one copy";
  const Json facts = dataset_facts({{"id", "vtab-kitti"}, {"options", {{"test", 3}, {"protocol", "final"}}}});
  EXPECT_EQ(facts.at("splits"), (Json{{"train", 1000}, {"validation", 0}, {"test", 3}}));
  EXPECT_EQ(facts.at("classes"), 4);
}

TEST_F(Vtab, RefusesWrongListsWithFileAndLine) {
  const std::string file = (data_.root() / "vtab-1k/kitti/val200.txt").string();
  const std::string path = "images/val200/000000.jpg";
  EXPECT_THAT(refused(path + " 0\n" + path + "\n"), HasSubstr(file + ", line 2: '" + path + "' is not a path"));
  EXPECT_THAT(refused(path + " x\n"), HasSubstr("line 1"));
  EXPECT_THAT(refused(path + " 4\n"), HasSubstr("the label 4 is outside 0..3"));
  EXPECT_THAT(refused(path + " -1\n"), HasSubstr("the label -1 is outside"));
  EXPECT_THAT(refused(path + " 0\n" + path + " 1\n"), HasSubstr("is listed twice"));
  EXPECT_THAT(refused("../../secret.jpg 0\n"), HasSubstr("leads out of the folder"));
  EXPECT_THAT(refused("images/val200/none.jpg 0\n"), HasSubstr("none.jpg cannot be opened"));
  EXPECT_THAT(refused(path + " 0\n"), HasSubstr("800 training, 1 validation and 3 test images"));
  std::filesystem::remove(data_.root() / "vtab-1k/kitti/val200.txt");
  EXPECT_THAT(data_.refused("vtab-kitti", {{"test", 3}}),
              AllOf(HasSubstr("val200.txt is missing"), HasSubstr("vtab1k")));
}

TEST(StoredItems, ThatAreNowhereSayWhatIsMissingAndHowToGetIt) {
  int seen = 0;
  for (const DatasetItem& item : dataset_items()) {
    const Json& facts = item.item.json().at("facts");
    if (!facts.contains("stored")) continue;
    ++seen;
    const StoredData data;
    try {
      examine_copy(item.id(), Json::object(), data.place(), {});
      ADD_FAILURE() << item.id();
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr((data.root() / facts.at("stored").at("folder").get<std::string>()).string()));
      EXPECT_THAT(error.what(), ::testing::AnyOf(HasSubstr("get "), HasSubstr("put "))) << item.id();
    }
    EXPECT_THAT(facts.at("digest").get<std::string>(), ::testing::MatchesRegex("[0-9a-f]{64}"));
  }
  EXPECT_GE(seen, 25) << "19 tasks of VTAB-1K and six readers";
}

}  // namespace
}  // namespace locus::engine
