package test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every image that is not built here can be pinned by its digest, in one place, which says which image each digest is
// for; and what is written there is a digest.
func TestDigests(t *testing.T) {
	digests, about := map[string]string{}, map[string]string{}
	comment := ""
	for line := range strings.Lines(read(t, "../digests.env")) {
		line = strings.TrimSpace(line)
		name, digest, is := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#"):
			comment = strings.TrimPrefix(line, "# ")
		case is:
			digests[name], about[name] = digest, comment
		case line != "":
			t.Errorf("%q sets nothing", line)
		}
	}
	for name, digest := range digests {
		if !wellFormed(digest) {
			t.Errorf("%s is %q: want @sha256: and 64 hexadecimal digits, or nothing", name, digest)
		}
	}
	used := map[string]string{}
	for _, file := range []string{"../compose.yaml", "../Dockerfile"} {
		for _, m := range regexp.MustCompile(`(?m)^\s*(?:image:|FROM(?: --platform=\S+)?) ([^\s$]+)(?:\$\{(\w+)(?::-)?\})?(?: AS \w+)?$`).FindAllStringSubmatch(read(t, file), -1) {
			image, name := m[1], m[2]
			if image == "scratch" || strings.HasSuffix(image, ":local") {
				continue
			}
			used[name] = image
			if about[name] != image {
				t.Errorf("%s: %s has the digest %q, which digests.env has for %q", file, image, name, about[name])
			}
		}
	}
	if diff := slices.Sorted(maps.Keys(used)); !slices.Equal(diff, slices.Sorted(maps.Keys(digests))) {
		t.Errorf("used are %v, and set %v", diff, slices.Sorted(maps.Keys(digests)))
	}
	if !strings.Contains(read(t, "../compose.yaml"), `GOLANG_DIGEST: "${GOLANG_DIGEST:-}"`) {
		t.Error("compose builds without the digest")
	}
}

// A digest that was cut off, or copied without its algorithm, is none.
func TestMalformedDigests(t *testing.T) {
	good := "@sha256:" + strings.Repeat("0a", 32)
	for digest, want := range map[string]bool{
		"": true, good: true, good[1:]: false, good[:len(good)-1]: false, good + "0": false, strings.ToUpper(good): false,
		"@" + strings.Repeat("0a", 32): false, " " + good: false, `"` + good + `"`: false,
	} {
		if wellFormed(digest) != want {
			t.Errorf("%q: want %v", digest, want)
		}
	}
}

// wellFormed reports whether a digest can follow a tag.
func wellFormed(digest string) bool {
	return digest == "" || regexp.MustCompile(`^@sha256:[0-9a-f]{64}$`).MatchString(digest)
}
