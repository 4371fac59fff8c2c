// Labels of any origin inside documents.
#include "core/statistics/render/escape.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(Escape, KeepsTextOnOneLineAndValid) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[31m\x7f"), "a b c [31m ");
  EXPECT_EQ(one_line("\xff\xc3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate";
  EXPECT_EQ(one_line("a\xE2\x80\xAE"
                     "b\xE2\x80\xA8"
                     "c"),
            "a b c")
      << "right-to-left override, line separator";
  EXPECT_EQ(one_line("\xC3\xA9\xE6\x97\xA5\xF0\x9F\x90\x8D"), "\xC3\xA9\xE6\x97\xA5\xF0\x9F\x90\x8D");
}

TEST(Escape, LatexSpecialsAreNeverCommands) {
  EXPECT_EQ(escape_latex("\\input{/etc/passwd}"), "\\textbackslash{}input\\{/etc/passwd\\}");
  EXPECT_EQ(escape_latex("a_b & 5% $x^2$ #1 ~"), "a\\_b \\& 5\\% \\$x\\textasciicircum{}2\\$ \\#1 \\textasciitilde{}");
  EXPECT_EQ(escape_latex("x\n% y"), "x \\% y") << "no line end, so no comment ends";
  EXPECT_EQ(escape_latex("a-b"), "a-b");
  EXPECT_EQ(escape_latex("--<>|\""), "-{}-$<$$>$$|$\\textquotedblright{}") << "no ligature";
  EXPECT_EQ(escape_latex("3\xC3\x97"
                         "3 \xC2\xB1 \xCF\x83"),
            "3$\\times$3 $\\pm$ $\\sigma$");
  EXPECT_EQ(escape_latex("caf\xC3\xA9 \xE6\x97\xA5"), "caf\xC3\xA9 [U+65E5]");
}

TEST(Escape, MarkdownKeepsItsCells) {
  EXPECT_EQ(escape_markdown("a|b\nc"), "a\\|b c");
  EXPECT_EQ(escape_markdown("*x* _y_ `z` [l](u) <b>&"), "\\*x\\* \\_y\\_ \\`z\\` \\[l\\](u) &lt;b&gt;&amp;");
}

TEST(Escape, HtmlCannotBreakOut) {
  EXPECT_EQ(escape_html("<script>alert(\"1\")</script>&'"),
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;");
}

TEST(Escape, CsvRunsNoFormula) {
  EXPECT_EQ(escape_csv("plain"), "plain");
  EXPECT_EQ(escape_csv("a,b"), "\"a,b\"");
  EXPECT_EQ(escape_csv("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(escape_csv("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
  EXPECT_EQ(escape_csv("-2+3"), "\"'-2+3\"");
  EXPECT_EQ(escape_csv(" \t@x"), "\"'  @x\"");
  EXPECT_EQ(escape_csv("-"), "-") << "a label that says none";
  EXPECT_EQ(escape_csv("a\r\nb"), "a  b");
}

}  // namespace
}  // namespace locus
