// Lines over TCP, for the stand-ins of IMEX. Everything within bounds, since it is they who are
// tested against.
#pragma once

#include <string>

namespace standin {

// A socket that does not block; -1: it cannot be. Addresses are IPv4.
int Listen(const std::string& ip, int port);
// Begins to connect from `from`.
int Connect(const std::string& from, const std::string& ip, int port);
// Whether a connection that was begun is there.
bool IsConnected(int fd);

// Appends what has come; false: the other side is gone.
bool Receive(int fd, std::string& text);
bool Send(int fd, const std::string& text);

// One question and the whole answer; empty: none, or no connection within a second, or no answer
// within `ms` after that.
std::string Ask(const std::string& from, const std::string& ip, int port,
                const std::string& question, int ms);

}  // namespace standin
