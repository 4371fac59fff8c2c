// Tar archives in WebDataset's layout, and what is refused of them. The archives are written here, header by header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/stored/shards.h"
#include "engine/data/stored/tar_index.h"
#include "tests/engine/data/stored_fixture.h"

namespace locus::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string octal(std::size_t value, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "%0*zo", digits, value);
  return text;
}

std::string member(const std::string& name, const std::string& bytes, char type = '0', const std::string& prefix = "") {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, octal(bytes.size(), 11));
  put(136, "00000000000");
  put(148, "        ");
  header[156] = type;
  put(257, std::string("ustar\00000", 8));
  put(345, prefix);
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

std::string pax(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

const std::string kEnd(1024, '\0');

class Shards : public ::testing::Test {
 protected:
  std::vector<std::string> names(const std::string& archive) {
    data_.write("x.tar", archive);
    const ReadFile file(data_.root() / "x.tar");
    std::vector<std::string> out;
    for (const TarMember& one : index_tar(file, "x.tar")) {
      const auto bytes = file.read(one.offset, one.bytes);
      out.push_back(one.name + "=" + text_of(bytes));
    }
    return out;
  }
  std::string broken(const std::string& archive) {
    try {
      names(archive);
    } catch (const DataError& error) {
      return error.what();
    }
    return "not refused";
  }
  std::string refused(const std::string& archive) {
    data_.write("image-shards/train-0.tar", archive);
    data_.write("image-shards/val-0.tar", sample("v", 1, "0") + kEnd);
    return data_.refused("image-shards", options_);
  }
  static std::string sample(const std::string& key, int shade, const std::string& label) {
    return member(key + ".png", png(shade)) + member(key + ".cls", label);
  }
  StoredData data_;
  Json options_ = {{"classes", 3}, {"train", 3}, {"test", 1}, {"manifest", ""}};
};

TEST_F(Shards, MembersHaveLongNamesInEitherDialect) {
  const std::string longer(150, 'n');
  EXPECT_THAT(names(member("a", "1") + kEnd), ElementsAre("a=1"));
  EXPECT_THAT(names(member("a", "1", '0', "folder/of") + kEnd), ElementsAre("folder/of/a=1"));
  EXPECT_THAT(names(member("././@LongLink", longer + std::string(1, '\0'), 'L') + member(longer, "2") +
                    member("b", "3") + kEnd),
              ElementsAre(longer + "=2", "b=3"));
  EXPECT_THAT(names(member("pax", pax("path", longer) + pax("mtime", "1.5"), 'x') + member("short", "4") +
                    member("c", "5") + kEnd),
              ElementsAre(longer + "=4", "c=5"));
  EXPECT_THAT(names(member("global", pax("comment", "x"), 'g') + member("d", "6", '\0') + kEnd), ElementsAre("d=6"));
  EXPECT_THAT(names(member("folder", "", '5') + member("link", "", '2') + member("e", "") + kEnd), ElementsAre("e="));
  EXPECT_THAT(names(member("no final zeros", "7")), ElementsAre("no final zeros=7"));
}

TEST_F(Shards, DamagedArchivesAreNamedWithThePlace) {
  std::string flipped = member("a", "1");
  flipped[3] = 'x';
  EXPECT_THAT(broken(flipped + kEnd), HasSubstr("byte 0: the sum of a header is wrong"));
  EXPECT_THAT(broken(member("a", std::string(2000, 'x')).substr(0, 1000)), HasSubstr("truncated"));
  EXPECT_THAT(broken(member("a", "1").substr(0, 700)), HasSubstr("not refused")) << "the last padding may be lacking";
  EXPECT_THAT(broken(member("a", "1") + std::string(100, 'x')), HasSubstr("byte 1024: ends inside a header"));
  EXPECT_THAT(broken(""), HasSubstr("is empty"));
  EXPECT_THAT(broken(gzip(member("a", "1") + kEnd + kEnd)), HasSubstr("x.tar"));
  EXPECT_THAT(broken(member("a", "", 'S') + kEnd), HasSubstr("sparse"));
  EXPECT_THAT(broken(member("p", "7 path=a\n", 'x') + member("a", "") + kEnd), HasSubstr("a PAX record is damaged"));
  EXPECT_THAT(broken(member("p", pax("size", "99999999"), 'x') + member("a", "") + kEnd),
              HasSubstr("goes beyond the end"));
}

TEST_F(Shards, SamplesAreConsecutiveMembersOfOneNameInTheOrderOfArchives) {
  data_.write("image-shards/train-1.tar", sample("c", 30, "2\n") + kEnd);
  data_.write("image-shards/train-0.tar", member("__meta__", "{}") + sample("folder.v2/a.x", 10, "1") +
                                              member("folder", "", '5') + member("b.cls", "0") +
                                              member("b.jpg", jpeg(20)) + member("b.json", "{}") + kEnd);
  data_.write("image-shards/val-0.tar", sample("v", 40, "0") + kEnd);
  EXPECT_THAT(data_.refused("image-shards", options_), HasSubstr("member folder.v2/a: the sample has no label"))
      << "of a.x.png the field is x.png: a name ends at its first dot";
  data_.write("image-shards/train-0.tar", member("__meta__", "{}") + sample("folder.v2/a", 10, "1") +
                                              member("folder", "", '5') + member("b.cls", "0") +
                                              member("b.jpg", jpeg(20)) + member("b.json", "{}") + kEnd);
  const auto dataset = data_.open("image-shards", options_);
  EXPECT_EQ(rows_of(*dataset->split("train")), "10/1 20/0 30/2");
  EXPECT_EQ(rows_of(*dataset->split("test")), "40/0");
}

TEST_F(Shards, LabelsMayBeAKeyOfTheJsonField) {
  const auto one = [](const std::string& key, int shade, int label) {
    return member(key + ".jpg", jpeg(shade)) + member(key + ".json", R"({"label": )" + std::to_string(label) + "}");
  };
  data_.write("image-shards/train-0.tar", one("a", 10, 2) + one("b", 20, -1) + one("c", 30, 0) + kEnd);
  data_.write("image-shards/val-0.tar", one("v", 40, 1) + kEnd);
  options_.update({{"label_key", "label"}, {"train", 2}});
  EXPECT_EQ(rows_of(*data_.open("image-shards", options_)->split("train")), "10/2 30/0") << "below 0 is left out";
  options_["label_key"] = "class";
  EXPECT_THAT(data_.refused("image-shards", options_), HasSubstr("a.json: there is no integer 'class'"));
}

TEST_F(Shards, RefuseWhatIsNoSample) {
  EXPECT_THAT(refused(sample("a", 1, "0") + member("a.cls", "1") + kEnd),
              HasSubstr("member a.cls: the sample has the field .cls twice"));
  EXPECT_THAT(refused(member("a.cls", "0") + kEnd), HasSubstr("member a: the sample has no image"));
  EXPECT_THAT(refused(member("a.png", png(1)) + kEnd), HasSubstr("no label"));
  EXPECT_THAT(refused(sample("a", 1, "one") + kEnd), HasSubstr("a.cls: 'one' is no label"));
  EXPECT_THAT(refused(sample("a", 1, "0") + sample("b", 1, "7") + sample("c", 1, "0") + kEnd),
              HasSubstr("b.png has the label 7, and there are 3 classes"));
  EXPECT_THAT(refused(sample("a", 1, "0") + member("b.webp", "RIFFxxxxWEBP") + member("b.cls", "0") +
                      sample("c", 1, "0") + kEnd),
              HasSubstr("b.webp"));
}

TEST_F(Shards, AreThoseOfTheirIndexWithItsCounts) {
  data_.write("image-shards/part/t.tar", sample("a", 10, "0") + sample("b", 20, "1") + sample("c", 30, "2") + kEnd);
  data_.write("image-shards/v.tar", sample("v", 40, "0") + kEnd);
  const auto index = [&](int train) {
    data_.write("image-shards/_info.json",
                Json{{"splits",
                      {{"train", {{"filenames", {"part/t.tar"}}, {"shard_lengths", {train}}, {"num_samples", train}}},
                       {"val", {{"filenames", {"v.tar"}}, {"shard_lengths", {1}}, {"num_samples", 1}}}}}}
                    .dump());
  };
  index(3);
  EXPECT_EQ(rows_of(*data_.open("image-shards", options_)->split("train")), "10/0 20/1 30/2");
  index(4);
  EXPECT_THAT(data_.refused("image-shards", options_), HasSubstr("t.tar has 3 samples where _info.json says 4"));
  data_.write("image-shards/_info.json", "{}");
  EXPECT_THAT(data_.refused("image-shards", options_), HasSubstr("_info.json is no index of shards"));
}

}  // namespace
}  // namespace locus::engine
