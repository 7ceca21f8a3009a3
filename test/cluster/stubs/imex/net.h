// Lines over TCP, for the stand-ins of IMEX.
//
// All operations are bounded, because tests run against them.
#pragma once

#include <string>

namespace standin {

// Returns a non-blocking socket, or -1 on failure. Addresses are IPv4.
int Listen(const std::string& ip, int port);
// Starts to connect from `from`.
int Connect(const std::string& from, const std::string& ip, int port);
// Returns whether a connection that was started is established.
bool IsConnected(int fd);

// Appends received bytes. Returns false if the peer has closed.
bool Receive(int fd, std::string& text);
bool Send(int fd, const std::string& text);

// Sends a question and returns the whole answer. Empty if there is no connection within a second,
// or no answer within `ms` after that.
std::string Ask(const std::string& from, const std::string& ip, int port,
                const std::string& question, int ms);

}  // namespace standin
