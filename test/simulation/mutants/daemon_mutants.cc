#include "node/daemon/clique.h"
#include "test/simulation/mutants/mutants.h"

namespace simulation {

namespace {

// The product's step, and what `change` makes of it.
template <typename Change>
DaemonRules After(Change change) {
  return {.decide = [change](const imex_daemon::DaemonIdentity& self,
                             const imex_daemon::DaemonObservation& observed,
                             const imex_daemon::DaemonMemory& memory) {
    imex_daemon::DaemonStep step = imex_daemon::Decide(self, observed, memory);
    change(step, self, observed, memory);
    return step;
  }};
}

// So that it knows its new peers at once.
DaemonRules RestartingImexForPeers() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity&,
                  const imex_daemon::DaemonObservation& observed,
                  const imex_daemon::DaemonMemory&) {
    if (step.hosts && observed.imex.runs) step.stop = true;
  });
}

// As the clique wants it, also while a job uses IMEX.
DaemonRules HealingAnotherIndex() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity& self,
                  const imex_daemon::DaemonObservation& observed,
                  const imex_daemon::DaemonMemory&) {
    const api::Member* own =
        observed.clique ? imex_daemon::OwnEntry(*observed.clique, self) : nullptr;
    if (!observed.imex.runs || !observed.imex.index || own == nullptr) return;
    if (own->index != *observed.imex.index) step.stop = true;
  });
}

// The sooner it runs the better.
DaemonRules StartingWithoutAnIndex() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity&,
                  const imex_daemon::DaemonObservation& observed,
                  const imex_daemon::DaemonMemory& memory) {
    const bool is_new = !observed.imex.runs && observed.imex.ends == 0;
    if (memory.membership_writer == imex_daemon::MembershipWriter::kController && !memory.hosts &&
        is_new)
      step.start = true;
  });
}

DaemonRules WritingTheControllersClique() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity& self,
                  const imex_daemon::DaemonObservation& observed,
                  const imex_daemon::DaemonMemory& memory) {
    const api::Member* own =
        observed.clique ? imex_daemon::OwnEntry(*observed.clique, self) : nullptr;
    const bool lags = own != nullptr && !own->ready && observed.imex.runs && !observed.writing;
    const bool is_first = memory.written_version.empty();
    if (memory.membership_writer == imex_daemon::MembershipWriter::kController && lags && is_first)
      step.write = imex_daemon::Write::kEntry;
  });
}

// What is reported has an index that `change` says, and is written when that is news.
template <typename Change>
DaemonRules Reporting(Change change) {
  return After([change](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity& self,
                        const imex_daemon::DaemonObservation& observed,
                        const imex_daemon::DaemonMemory& memory) {
    const bool was_news = step.write == imex_daemon::Write::kReport;
    const bool is_due = memory.membership_writer == imex_daemon::MembershipWriter::kController &&
                        memory.reported && observed.imex.runs && !observed.writing &&
                        !observed.stopping &&
                        observed.now >= memory.reported_at + std::chrono::seconds(10);
    change(step.report, self, observed);
    if (step.write && !was_news) return;
    step.write.reset();
    const bool is_first = was_news && !memory.reported;
    if (is_first || (is_due && memory.reported != step.report))
      step.write = imex_daemon::Write::kReport;
  });
}

DaemonRules ReportingTheIndexOfTheClique() {
  return Reporting([](api::ImexReport& report, const imex_daemon::DaemonIdentity& self,
                      const imex_daemon::DaemonObservation& observed) {
    const api::Member* own =
        observed.clique ? imex_daemon::OwnEntry(*observed.clique, self) : nullptr;
    if (own != nullptr) report.index = own->index;
  });
}

DaemonRules ReportingNoIndex() {
  return Reporting([](api::ImexReport& report, const imex_daemon::DaemonIdentity&,
                      const imex_daemon::DaemonObservation&) { report.index = -1; });
}

DaemonRules ReportingOnce() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity&,
                  const imex_daemon::DaemonObservation&, const imex_daemon::DaemonMemory& memory) {
    if (step.write == imex_daemon::Write::kReport && memory.reported) step.write.reset();
  });
}

DaemonRules LeavingImexEnded() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity&,
                  const imex_daemon::DaemonObservation& observed,
                  const imex_daemon::DaemonMemory&) {
    if (observed.imex.ends > 0) step.start = false;
  });
}

DaemonRules NeverSayingReady() {
  return {.decide = [](const imex_daemon::DaemonIdentity& self,
                       const imex_daemon::DaemonObservation& observed,
                       const imex_daemon::DaemonMemory& memory) {
    imex_daemon::DaemonObservation blind = observed;
    blind.pod_ready = false;
    return imex_daemon::Decide(self, blind, memory);
  }};
}

// At each change, whether IMEX can hear it or not.
DaemonRules SignallingAtOnce() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity&,
                  const imex_daemon::DaemonObservation& observed,
                  const imex_daemon::DaemonMemory& memory) {
    if (memory.signals.changed && observed.imex.runs) step.signal = true;
  });
}

DaemonRules StayingInTheClique() {
  return After([](imex_daemon::DaemonStep& step, const imex_daemon::DaemonIdentity&,
                  const imex_daemon::DaemonObservation& observed,
                  const imex_daemon::DaemonMemory&) {
    if (!observed.stopping) return;
    step.write.reset();
    step.over = !observed.imex.runs;
  });
}

RunSpec ToldBy(const char* scenario, bool controller_writes) {
  return {.scenario = scenario, .controller_writes = controller_writes, .own_daemons = true};
}

}  // namespace

const std::vector<Mutant>& DaemonMutants() {
  static const auto mutant = [](const char* name, const char* oracle, DaemonRules rules,
                                RunSpec told_by) {
    return Mutant{.name = name,
                  .oracle = oracle,
                  .rules = compute_domain::kRules,
                  .told_by = std::move(told_by),
                  .daemon_rules = std::move(rules)};
  };
  static const std::vector<Mutant> mutants = {
      mutant("imex-is-restarted-for-peers", "I1", RestartingImexForPeers(),
             ToldBy("join-leave-rejoin", true)),
      mutant("another-index-is-healed", "I1", HealingAnotherIndex(), ToldBy("index-changed", true)),
      mutant("imex-is-started-without-an-index", "I2", StartingWithoutAnIndex(),
             ToldBy("create-ready-delete", true)),
      mutant("daemon-writes-the-controllers-clique", "I3", WritingTheControllersClique(),
             ToldBy("create-ready-delete", true)),
      mutant("report-repeats-the-clique", "I4", ReportingTheIndexOfTheClique(),
             ToldBy("index-changed", true)),
      mutant("report-is-made-once", "I4", ReportingOnce(), ToldBy("imex-and-daemons-die", true)),
      mutant("imex-that-ended-is-left", "I5", LeavingImexEnded(),
             ToldBy("imex-and-daemons-die", true)),
      mutant("entry-is-never-ready", "I5", NeverSayingReady(),
             ToldBy("create-ready-delete", false)),
      mutant("report-has-no-index", "I6", ReportingNoIndex(), ToldBy("index-changed", true)),
      mutant("imex-is-signalled-at-once", "I7", SignallingAtOnce(), ToldBy("index-changed", true)),
      mutant("daemon-stays-in-its-clique", "I8", StayingInTheClique(),
             ToldBy("create-ready-delete", false)),
  };
  return mutants;
}

}  // namespace simulation
