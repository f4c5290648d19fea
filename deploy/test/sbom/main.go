// Command sbom writes what a Go binary was built from, as CycloneDX in JSON: sbom BINARY VERSION. It says what the
// linker has recorded in the binary, so it names the modules that are in it and no others.
package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write prints the list of a binary. It has no time and no serial number: equal binaries have equal lists.
func write(path, version string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading what %s was built from: %w", path, err)
	}
	name := filepath.Base(path)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{Type: cdx.ComponentTypeApplication, Name: name,
		Version: version, BOMRef: name}}
	components := []cdx.Component{library("std", info.GoVersion[len("go"):])}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, library(m.Path, m.Version))
	}
	refs := make([]string, len(components))
	for i, c := range components {
		refs[i] = c.BOMRef
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: name, Dependencies: &refs}}
	if err := cdx.NewBOMEncoder(os.Stdout, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
		cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}

func library(module, version string) cdx.Component {
	url := "pkg:golang/" + module + "@" + version
	return cdx.Component{Type: cdx.ComponentTypeLibrary, Name: module, Version: version, PackageURL: url, BOMRef: url}
}
