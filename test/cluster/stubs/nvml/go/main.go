// NVIDIA's library as NVIDIA's own bindings for Go see it. What is expected of cdom's header and of the stand-in comes from them.
//
//	nvml layouts        prints a static_assert of C++ for each number and layout in cdom's node/nvml/abi.h
//	nvml read LIBRARY   prints what the bindings read of the library at this path, as JSON
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// A structure of cdom, the same one of the bindings, and their fields in pairs.
type layout struct {
	name   string
	same   any
	fields []string
}

var layouts = []layout{
	{"FabricInfo", nvml.GpuFabricInfo{}, []string{"cluster", "ClusterUuid", "status", "Status", "clique", "CliqueId", "state", "State"}},
	{"FabricInfo2", nvml.GpuFabricInfo_v2{}, []string{"version", "Version", "cluster", "ClusterUuid", "status", "Status",
		"clique", "CliqueId", "state", "State", "health", "HealthMask"}},
	{"Memory", nvml.Memory{}, []string{"total", "Total", "free", "Free", "used", "Used"}},
	{"PciInfo", nvml.PciInfo{}, []string{"bus_id_legacy", "BusIdLegacy", "domain", "Domain", "bus", "Bus", "device", "Device",
		"device_and_vendor", "PciDeviceId", "subsystem", "PciSubSystemId", "bus_id", "BusId"}},
	{"AddressingMode", nvml.DeviceAddressingMode{}, []string{"version", "Version", "value", "Value"}},
	{"GpuInstanceProfile", nvml.GpuInstanceProfileInfo{}, []string{"id", "Id", "is_p2p_supported", "IsP2pSupported",
		"slices", "SliceCount", "instances", "InstanceCount", "multiprocessors", "MultiprocessorCount",
		"copy_engines", "CopyEngineCount", "decoders", "DecoderCount", "encoders", "EncoderCount", "jpeg_engines", "JpegCount",
		"ofa_engines", "OfaCount", "memory_mib", "MemorySizeMB"}},
	{"Placement", nvml.GpuInstancePlacement{}, []string{"start", "Start", "size", "Size"}},
	{"Placement", nvml.ComputeInstancePlacement{}, []string{"start", "Start", "size", "Size"}},
	{"ComputeInstanceProfile", nvml.ComputeInstanceProfileInfo{}, []string{"id", "Id", "slices", "SliceCount",
		"instances", "InstanceCount", "multiprocessors", "MultiprocessorCount", "shared_copy_engines", "SharedCopyEngineCount",
		"shared_decoders", "SharedDecoderCount", "shared_encoders", "SharedEncoderCount", "shared_jpeg_engines", "SharedJpegCount",
		"shared_ofa_engines", "SharedOfaCount"}},
}

func printLayouts() error {
	for _, one := range layouts {
		same := reflect.TypeOf(one.same)
		fmt.Printf("static_assert(sizeof(%s) == %d);\n", one.name, same.Size())
		for i := 0; i < len(one.fields); i += 2 {
			field, has := same.FieldByName(one.fields[i+1])
			if !has {
				return fmt.Errorf("%s has no field %s", same, one.fields[i+1])
			}
			fmt.Printf("static_assert(offsetof(%s, %s) == %d);\n", one.name, one.fields[i], field.Offset)
			fmt.Printf("static_assert(sizeof(%s::%s) == %d);\n", one.name, one.fields[i], field.Type.Size())
		}
	}
	for name, value := range map[string]uint32{
		"kSuccess":                 uint32(nvml.SUCCESS),
		"kInvalidArgument":         uint32(nvml.ERROR_INVALID_ARGUMENT),
		"kNotSupported":            uint32(nvml.ERROR_NOT_SUPPORTED),
		"kNotFound":                uint32(nvml.ERROR_NOT_FOUND),
		"kNoSuchFunction":          uint32(nvml.ERROR_FUNCTION_NOT_FOUND),
		"kGpuIsLost":               uint32(nvml.ERROR_GPU_IS_LOST),
		"kVersionMismatch":         uint32(nvml.ERROR_ARGUMENT_VERSION_MISMATCH),
		"kInitWithoutGpus":         nvml.INIT_FLAG_NO_GPUS,
		"kFabricInfo2":             nvml.STRUCT_VERSION(nvml.GpuFabricInfo_v2{}, 2),
		"kAddressingMode1":         nvml.STRUCT_VERSION(nvml.DeviceAddressingMode{}, 1),
		"kMigOn":                   nvml.DEVICE_MIG_ENABLE,
		"kGpuInstanceProfiles":     nvml.GPU_INSTANCE_PROFILE_COUNT,
		"kComputeInstanceProfiles": nvml.COMPUTE_INSTANCE_PROFILE_COUNT,
		"kSharedEngines":           nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED,
	} {
		fmt.Printf("static_assert(%s == %d);\n", name, value)
	}
	return nil
}

// The first failure of several calls.
type calls struct{ err error }

func (c *calls) check(what string, code nvml.Return) {
	if c.err == nil && code != nvml.SUCCESS {
		c.err = fmt.Errorf("%s: %d", what, code)
	}
}

func text(bytes []int8) string {
	var out []byte
	for _, b := range bytes {
		if b == 0 {
			break
		}
		out = append(out, byte(b))
	}
	return string(out)
}

func readInstance(c *calls, gpu nvml.Device, mig nvml.Device) map[string]any {
	uuid, code := mig.GetUUID()
	c.check("uuid", code)
	gpuID, code := mig.GetGpuInstanceId()
	c.check("gpu instance id", code)
	computeID, code := mig.GetComputeInstanceId()
	c.check("compute instance id", code)
	instance, code := gpu.GetGpuInstanceById(gpuID)
	c.check("gpu instance", code)
	info, code := instance.GetInfo()
	c.check("gpu instance info", code)
	compute, code := instance.GetComputeInstanceById(computeID)
	c.check("compute instance", code)
	computeInfo, code := compute.GetInfo()
	c.check("compute instance info", code)
	return map[string]any{"uuid": uuid, "gi": info.Id, "ci": computeInfo.Id, "profile": info.ProfileId,
		"start": info.Placement.Start, "size": info.Placement.Size}
}

func readGpu(gpu nvml.Device) (map[string]any, error) {
	c := &calls{}
	name, code := gpu.GetName()
	c.check("name", code)
	uuid, code := gpu.GetUUID()
	c.check("uuid", code)
	minor, code := gpu.GetMinorNumber()
	c.check("minor", code)
	brand, code := gpu.GetBrand()
	c.check("brand", code)
	architecture, code := gpu.GetArchitecture()
	c.check("architecture", code)
	major, lesser, code := gpu.GetCudaComputeCapability()
	c.check("compute capability", code)
	memory, code := gpu.GetMemoryInfo()
	c.check("memory", code)
	pci, code := gpu.GetPciInfo()
	c.check("pci", code)
	mode, code := gpu.GetAddressingMode()
	c.check("addressing mode", code)
	mig, _, code := gpu.GetMigMode()
	c.check("mig mode", code)
	fabric, code := gpu.GetGpuFabricInfoV().V2()
	c.check("fabric", code)
	profile, code := gpu.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	c.check("profile", code)
	instances := []any{}
	most, code := gpu.GetMaxMigDeviceCount()
	c.check("mig count", code)
	for i := 0; i < most && c.err == nil; i++ {
		if device, code := gpu.GetMigDeviceHandleByIndex(i); code == nvml.SUCCESS {
			instances = append(instances, readInstance(c, gpu, device))
		}
	}
	return map[string]any{"name": name, "uuid": uuid, "minor": minor, "brand": brand, "arch": architecture,
		"cc": fmt.Sprintf("%d.%d", major, lesser), "memory": memory.Total, "pci": text(pci.BusId[:]), "addressing": mode.Value,
		"mig": mig, "fabric": []any{fabric.State, fabric.Status, fabric.ClusterUuid[15], fabric.CliqueId}, "health": fabric.HealthMask,
		"profile": map[string]any{"id": profile.Id, "slices": profile.SliceCount, "memory": profile.MemorySizeMB,
			"sms": profile.MultiprocessorCount, "copy": profile.CopyEngineCount, "decoders": profile.DecoderCount,
			"encoders": profile.EncoderCount, "jpeg": profile.JpegCount, "ofa": profile.OfaCount},
		"instances": instances}, c.err
}

func read(path string) error {
	library := nvml.New(nvml.WithLibraryPath(path))
	c := &calls{}
	c.check("init", library.InitWithFlags(nvml.INIT_FLAG_NO_GPUS))
	if c.err != nil {
		return c.err
	}
	version, code := library.SystemGetDriverVersion()
	c.check("driver version", code)
	cuda, code := library.SystemGetCudaDriverVersion()
	c.check("cuda version", code)
	count, code := library.DeviceGetCount()
	c.check("count", code)
	gpus := []any{}
	for i := 0; i < count && c.err == nil; i++ {
		device, code := library.DeviceGetHandleByIndex(i)
		c.check("device", code)
		if c.err != nil {
			break
		}
		gpu, err := readGpu(device)
		if err != nil {
			return err
		}
		gpus = append(gpus, gpu)
	}
	if c.err != nil {
		return c.err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"driver": version, "cuda": cuda, "gpus": gpus})
}

func main() {
	err := fmt.Errorf("usage: nvml layouts | nvml read LIBRARY")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "layouts":
		err = printLayouts()
	case len(os.Args) == 3 && os.Args[1] == "read":
		err = read(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
