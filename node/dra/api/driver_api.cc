#include "node/dra/api/driver_api.h"

#include <utility>

namespace dra {

namespace {

kube::ReflectorOptions SlicesOf(std::string_view driver, const std::string& node) {
  return {.resource = kube::kResourceSlices,
          .versions = kube::kDraVersions,
          .field_selector = "spec.driver=" + std::string(driver) + ",spec.nodeName=" + node};
}

SliceApi SliceApiOf(std::string_view version) {
  for (const SliceApi api : {SliceApi::kV1, SliceApi::kV1Beta2}) {
    if (NameOf(api) == version) return api;
  }
  return SliceApi::kV1Beta1;
}

}  // namespace

DriverApi::DriverApi(std::unique_ptr<kube::ApiSession> session, std::string_view driver,
                     const std::string& node, std::unique_ptr<base::Random> random,
                     base::Logger& logger, base::TaskQueue& tasks, std::function<void()> on_change)
    : tasks_(tasks),
      on_change_(std::move(on_change)),
      random_(std::move(random)),
      slices_(&DecodeSliceMeta, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      slice_reflector_(SlicesOf(driver, node), slices_, *random_, logger),
      session_(std::move(session)) {}

DriverApi::~DriverApi() = default;

kube::ApiSession::WatchHandle DriverApi::Watch(std::vector<kube::Reflector*> reflectors) {
  reflectors.push_back(&slice_reflector_);
  return session_->Watch(std::move(reflectors), [this] { OnTurn(); });
}

void DriverApi::OnTurn() {
  const SliceApi version = SliceApiOf(slice_reflector_.resource().version);
  if (!slice_reflector_.HasSynced()) return;
  dra_version_ = version;
  if (!slices_read_.exchange(true)) on_change_();
}

base::Result<DriverApi::SliceMeta> DriverApi::DecodeSliceMeta(json::View object) {
  return SliceMeta{.meta = TRY(kube::DecodeMeta(object))};
}

std::optional<std::vector<kube::ObjectMeta>> DriverApi::slices() const {
  if (!slices_read_) return {};
  std::vector<kube::ObjectMeta> found;
  for (const auto& slice : slices_.List()) found.push_back(slice->meta);
  return found;
}

void DriverApi::Enqueue(Queue queue, Task task) {
  ++open_;
  session_->Post(static_cast<std::size_t>(queue),
                 [this, task = std::move(task)](http::Transport& transport) {
                   tasks_.Post(task(transport));
                   --open_;
                 });
}

}  // namespace dra
