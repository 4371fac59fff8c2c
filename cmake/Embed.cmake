# cmake -DIN=FILE -DOUT=FILE.cc -DHEADER=path/of/header.h -DNAME=function -P Embed.cmake
# A source that defines `std::string_view NAME()`, the bytes of a file.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "#include \"${HEADER}\"\nnamespace {\nconstexpr unsigned char kBytes[] = {${bytes}};\n}\n"
  "std::string_view ${NAME}() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }\n")
