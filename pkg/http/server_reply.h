#pragma once

#include <functional>
#include <string>

#include "pkg/http/server.h"

namespace http {

// The bytes that answer a request. `head` is everything up to and with the empty line; whatever it
// holds, there is an answer. Has its parts read and written by cpp-httplib.
[[nodiscard]] std::string AnswerTo(const std::string& head, const Server::Handler& handler);

}  // namespace http
