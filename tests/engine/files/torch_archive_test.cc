// Files of torch.save: plain tensors are read, everything else is refused and nothing is run.
#include "engine/files/torch_archive.h"

#include <gmock/gmock.h>

#include "engine/base/failure.h"
#include "engine/files/tensor_file.h"
#include "tests/engine/files/torch_fixture.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using namespace pickled;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TorchArchive : public ::testing::Test {
 protected:
  TensorFile read(const std::string& bytes) {
    write_bytes(path_, bytes);
    return read_torch_archive(path_);
  }
  std::string refused(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const DataError& error) {
      return error.what();
    }
    return "not refused";
  }
  // An archive of this pickle and one storage of six numbers.
  std::string with_pickle(const std::string& value) { return torch_archive(whole(value), {kSix}); }

  const std::string kSix = bytes_of({0, 1, 2, 3, 4, 5});
  const std::string kStorage = storage("FloatStorage", "0", 6);
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "x.pth";
};

TEST_F(TorchArchive, GivesTensorsByTheirPathThroughDictionariesAndLists) {
  const std::string pickle = dictionary({{"model", dictionary({{"norm.weight", tensor(kStorage, 0, {2, 3}, {3, 1})}})},
                                         {"epoch", integer(7)},
                                         {"name", text("vit")},
                                         {"list", "](" + tensor(kStorage, 4, {2}, {1}) + "Ne"}});
  const TensorFile file = read(with_pickle(pickle));
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_TRUE(at::equal(file.tensors.at("model.norm.weight"), at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_TRUE(at::equal(file.tensors.at("list.0"), at::tensor({4.0f, 5.0f})));
}

TEST_F(TorchArchive, KeepsStridesAndSharesStorages) {
  const std::string both = dictionary({{"a", tensor(kStorage, 0, {3, 2}, {1, 3})}, {"b", tensor(kStorage, 1, {}, {})}});
  const TensorFile file = read(with_pickle(both));
  EXPECT_TRUE(at::equal(file.tensors.at("a"), at::arange(6, at::kFloat).view({2, 3}).t()));
  EXPECT_EQ(file.tensors.at("b").item<float>(), 1);
  EXPECT_TRUE(file.tensors.at("a").is_alias_of(file.tensors.at("b")));
}

TEST_F(TorchArchive, ReadsParametersOrderedDictionariesAndWhatTheyCarry) {
  const std::string parameter = global("torch._utils", "_rebuild_parameter") + "(" + tensor(kStorage, 0, {6}, {1}) +
                                "\x88" + global("collections", "OrderedDict") + ")RtR";
  const std::string ordered = global("collections", "OrderedDict") + ")R(" + text("w") + parameter + "u" +
                              dictionary({{"_metadata", global("collections", "OrderedDict") + ")R"}}) + "b";
  EXPECT_TRUE(at::equal(read(with_pickle(ordered)).tensors.at("w"), at::arange(6, at::kFloat)));
}

TEST_F(TorchArchive, ReadsWhatLaterProtocolsWrite) {
  // FRAME, SHORT_BINUNICODE, MEMOIZE, STACK_GLOBAL, BINGET
  const auto brief = [](const std::string& value) { return "\x8c" + little(value.size(), 1) + value + "\x94"; };
  const std::string type = brief("torch") + brief("FloatStorage") + "\x93";
  const std::string id = "(" + brief("storage") + type + brief("0") + brief("cpu") + "K\6tQ";
  const std::string rebuild = brief("torch._utils") + brief("_rebuild_tensor_v2") + "\x93";
  const std::string value = "}" + brief("w") + rebuild + "(" + id + std::string("K\0K\6\x85K\1\x85\x89Nt", 11) + "Rs";
  const std::string pickle = "\x80\4\x95" + little(value.size(), 8) + value + ".";
  EXPECT_TRUE(at::equal(read(torch_archive(pickle, {kSix})).tensors.at("w"), at::arange(6, at::kFloat)));
}

TEST_F(TorchArchive, ReadsEveryTypeOfStorage) {
  const std::pair<const char*, at::ScalarType> types[] = {
      {"DoubleStorage", at::kDouble},     {"FloatStorage", at::kFloat}, {"HalfStorage", at::kHalf},
      {"BFloat16Storage", at::kBFloat16}, {"LongStorage", at::kLong},   {"IntStorage", at::kInt},
      {"ShortStorage", at::kShort},       {"CharStorage", at::kChar},   {"ByteStorage", at::kByte},
      {"BoolStorage", at::kBool}};
  for (const auto& [name, type] : types) {
    const Tensor values = at::arange(2).to(type);
    const std::string data(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
    const std::string one = dictionary({{"w", tensor(storage(name, "0", 2), 0, {2}, {1})}});
    EXPECT_TRUE(same_bits(read(torch_archive(whole(one), {data})).tensors.at("w"), values)) << name;
  }
}

TEST_F(TorchArchive, RefusesWhateverWouldBeRunAndNamesIt) {
  const std::string marker = (folder_.path() / "run").string();
  const std::string command = "(" + text("touch " + marker) + "t";
  for (const auto& [module, name] : {std::pair{"os", "system"},
                                     {"posix", "system"},
                                     {"builtins", "exec"},
                                     {"builtins", "__import__"},
                                     {"torch.hub", "load"},
                                     {"argparse", "Namespace"},
                                     {"numpy.core.multiarray", "scalar"},
                                     {"torch._utils", "_rebuild_tensor_v3"}}) {
    const std::string who = std::string(module) + "." + name;
    EXPECT_THAT(refused(with_pickle(global(module, name) + command + "R")),
                AllOf(HasSubstr("'" + who + "'"), HasSubstr("weights_only=True"), HasSubstr(path_.string())));
    EXPECT_THAT(refused(with_pickle(text(module) + text(name) + "\x93" + command + "R")), HasSubstr("'" + who + "'"));
  }
  EXPECT_FALSE(std::filesystem::exists(marker));
  // INST, OBJ, NEWOBJ, EXT1, NEXT_BUFFER, PERSID: instructions that make objects of other kinds.
  for (const char* op : {"(ios\nsystem\n", "(o", ")\x81", "\x82\1", "\x97", "P0\n"})
    EXPECT_THAT(refused(with_pickle(op)), HasSubstr("instruction")) << op;
  EXPECT_THAT(refused(with_pickle(global("torch", "FloatStorage") + ")R")), HasSubstr("it calls"));
}

TEST_F(TorchArchive, EndsOnPicklesThatNestShareOrCircleWithoutEnd) {
  std::string deep, bomb = "]";
  for (int i = 0; i < 400'000; ++i) deep += ']';
  for (int i = 0; i < 399'999; ++i) deep += 'a';
  EXPECT_THAT(refused(with_pickle(deep)), HasSubstr("nests deeper"));
  for (int i = 0; i < 30; ++i)
    bomb += "q" + little(static_cast<std::uint64_t>(i), 1) + "](h" + little(static_cast<std::uint64_t>(i), 1) + "h" +
            little(static_cast<std::uint64_t>(i), 1) + "e";
  EXPECT_THAT(refused(with_pickle(bomb)), HasSubstr("more than 200000 values"));
  EXPECT_THAT(refused(with_pickle(std::string("]q\0h\0a", 6))), HasSubstr("nests deeper"));
  EXPECT_THAT(refused(with_pickle(std::string(1'100'000, 'N'))), HasSubstr("a million values"));
  EXPECT_THAT(refused(with_pickle(std::string(17u << 20, 'N'))), HasSubstr("bytes"));
}

TEST_F(TorchArchive, RefusesTensorsThatReachBeyondTheirStorage) {
  const auto one = [&](std::int64_t offset, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides) {
    return refused(with_pickle(dictionary({{"w", tensor(kStorage, offset, sizes, strides)}})));
  };
  EXPECT_EQ(one(0, {2, 3}, {3, 1}), "not refused");
  EXPECT_EQ(one(6, {0}, {1}), "not refused");
  EXPECT_THAT(one(1, {2, 3}, {3, 1}), HasSubstr("beyond its storage"));
  EXPECT_THAT(one(-1, {2}, {1}), HasSubstr("damaged"));
  EXPECT_THAT(one(0, {2}, {-1}), HasSubstr("no natural number"));
  EXPECT_THAT(one(0, {7}, {0}), HasSubstr("beyond its storage"));
  EXPECT_THAT(one(0, {2}, {1, 1}), HasSubstr("other strides"));
  EXPECT_THAT(one(0, {2'000'000'000, 2'000'000'000, 2'000'000'000}, {1, 1, 1}), HasSubstr("too large"));
  EXPECT_THAT(
      refused(torch_archive(
          whole(dictionary({{"w", tensor(storage("FloatStorage", "0", 2'000'000'000), 0, {1}, {1})}})), {kSix})),
      HasSubstr("24 bytes where 2000000000 elements"));
  EXPECT_THAT(
      refused(torch_archive(whole(dictionary({{"w", tensor(storage("FloatStorage", "9", 6), 0, {1}, {1})}})), {kSix})),
      HasSubstr("lacks its storage 9"));
  EXPECT_THAT(refused(torch_archive(whole(dictionary({{"w", tensor(storage("FloatStorage", "../0", 6), 0, {1}, {1})}})),
                                    {kSix})),
              HasSubstr("'../0'"));
}

TEST_F(TorchArchive, RefusesWhatIsNoArchiveOfTensors) {
  EXPECT_THAT(refused("\x80\2}."), AllOf(HasSubstr("no zip archive"), HasSubstr("since 1.6")));
  EXPECT_THAT(refused(""), HasSubstr("no zip archive"));
  EXPECT_THAT(refused(zip_of({{"a/other", "x"}})), HasSubstr("without data.pkl"));
  EXPECT_THAT(refused(zip_of({{"a/data.pkl", whole("}")}, {"b/data.pkl", whole("}")}})), HasSubstr("two pickles"));
  EXPECT_THAT(refused(zip_of({{"a/byteorder", "big"}, {"a/data.pkl", whole("}")}})), HasSubstr("little endian"));
  EXPECT_THAT(refused(zip_of({{"a/constants.pkl", ""}, {"a/data.pkl", whole("}")}})), HasSubstr("TorchScript"));
}

TEST_F(TorchArchive, EveryTruncationIsRefused) {
  const std::string bytes = with_pickle(dictionary({{"w", tensor(kStorage, 0, {6}, {1})}}));
  ASSERT_EQ(refused(bytes), "not refused");
  for (std::size_t cut = 0; cut + 22 < bytes.size(); cut += 7)
    EXPECT_NE(refused(bytes.substr(0, cut)), "not refused") << cut;
  const std::string pickle = whole(dictionary({{"w", tensor(kStorage, 0, {6}, {1})}}));
  for (std::size_t cut = 0; cut < pickle.size(); ++cut)
    EXPECT_NE(refused(torch_archive(pickle.substr(0, cut), {kSix})), "not refused") << cut;
}

TEST_F(TorchArchive, NoChangedByteOfAPickleGoesUnnoticedAsACrash) {
  const std::string pickle = whole(dictionary({{"w", tensor(kStorage, 0, {6}, {1})}}));
  for (std::size_t i = 0; i < pickle.size(); ++i) {
    for (const int flip : {1, 0x20, 0x80}) {
      std::string changed = pickle;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      refused(torch_archive(changed, {kSix}));  // refused or read, and nothing else
    }
  }
}

class TensorFiles : public TorchArchive {
 protected:
  void write_index(const Json& map) { write_bytes(index_, Json({{"weight_map", map}}).dump()); }
  std::string refused_index() {
    try {
      read_tensor_file(index_);
    } catch (const DataError& error) {
      return error.what();
    }
    return "not refused";
  }
  std::filesystem::path index_ = folder_.path() / "model.safetensors.index.json";
};

TEST_F(TensorFiles, OfShardsAreReadAsOneAndKnownByTheirContent) {
  write_safetensors(folder_.path() / "a.safetensors", {{{"x", at::ones({2})}}, {}});
  write_safetensors(folder_.path() / "b.safetensors", {{{"y", at::zeros({3})}}, {}});
  write_index({{"x", "a.safetensors"}, {"y", "b.safetensors"}});
  const TensorFile file = read_tensor_file(index_);
  EXPECT_EQ(file.tensors.size(), 2u);
  EXPECT_TRUE(at::equal(file.tensors.at("y"), at::zeros({3})));
  const std::string before = tensor_file_sha256(index_);
  EXPECT_EQ(before, sha256_hex(sha256_hex(read_bytes(folder_.path() / "a.safetensors")) + "  a.safetensors\n" +
                               sha256_hex(read_bytes(folder_.path() / "b.safetensors")) + "  b.safetensors\n"));
  write_safetensors(folder_.path() / "b.safetensors", {{{"y", at::ones({3})}}, {}});
  EXPECT_NE(tensor_file_sha256(index_), before);
}

TEST_F(TensorFiles, OfShardsMustHoldWhatTheirListSays) {
  write_safetensors(folder_.path() / "a.safetensors", {{{"x", at::ones({2})}}, {}});
  write_index({{"x", "a.safetensors"}, {"z", "a.safetensors"}});
  EXPECT_THAT(refused_index(), HasSubstr("lacks the tensor 'z'"));
  write_safetensors(folder_.path() / "a.safetensors", {{{"x", at::ones({2})}, {"extra", at::ones({2})}}, {}});
  write_index({{"x", "a.safetensors"}});
  EXPECT_THAT(refused_index(), HasSubstr("'extra', which is not listed"));
  write_index({{"x", "../a.safetensors"}});
  EXPECT_THAT(refused_index(), HasSubstr("no safetensors file beside it"));
  write_bytes(index_, "[]");
  EXPECT_THAT(refused_index(), HasSubstr("no \"weight_map\""));
}

TEST_F(TensorFiles, AreRecognizedByTheirContentWhereTheirNameSaysNothing) {
  const auto artifact = folder_.path() / "0123";
  write_bytes(artifact, with_pickle(dictionary({{"w", tensor(kStorage, 0, {6}, {1})}})));
  EXPECT_TRUE(read_tensor_file(artifact).tensors.contains("w"));
  write_safetensors(artifact, {{{"v", at::ones({2})}}, {}});
  EXPECT_TRUE(read_tensor_file(artifact).tensors.contains("v"));
}

}  // namespace
}  // namespace locus::engine
