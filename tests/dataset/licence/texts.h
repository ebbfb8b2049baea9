// Licence texts for tests to change.
#pragma once

#include <string>

namespace kw::licence {

inline const std::string mit_title = "MIT License\n\nCopyright (c) 2024 Somebody\n\n";
inline const std::string mit_grant =
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and "
    "associated\n"
    "documentation files (the \"Software\"), to deal in the Software without restriction, including without "
    "limitation\n"
    "the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the "
    "Software, and to\n"
    "permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\n";
inline const std::string mit_rest =
    "The above copyright notice and this permission notice shall be included in all copies or substantial "
    "portions of\n"
    "the Software.\n\n"
    "THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT "
    "LIMITED TO\n"
    "THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT "
    "SHALL THE\n"
    "AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION "
    "OF CONTRACT,\n"
    "TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS "
    "IN THE\n"
    "SOFTWARE.\n";
inline const std::string mit = mit_title + mit_grant + mit_rest;

inline const std::string gpl_notice =
    "# This program is free software: you can redistribute it and/or modify\n"
    "# it under the terms of the GNU Affero General Public License as published by\n"
    "# the Free Software Foundation, either version 3 of the License, or\n"
    "# (at your option) any later version.\n";

}  // namespace kw::licence
