package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// The Dockerfile passes the checks of BuildKit's own parser, and a review.
func TestDockerfile(t *testing.T) {
	tree, err := parser.Parse(strings.NewReader(read(t, "../Dockerfile")))
	if err != nil {
		t.Fatal(err)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, description, _, message string, _ []parser.Range) {
		t.Errorf("%s: %s (%s)", rule, message, description)
	}})
	stages, _, err := instructions.Parse(tree.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) < 2 || stages[len(stages)-1].Name != "dealhouse" {
		t.Fatalf("%d stages; the last is built when none is named", len(stages))
	}
	for _, stage := range stages {
		if stage.BaseName != "scratch" && !regexp.MustCompile(`^[a-z]+(/[a-z-]+)?:\d`).MatchString(stage.BaseName) {
			t.Errorf("%s is not pinned, or names a registry", stage.BaseName)
		}
		var user, health, entry bool
		for _, command := range stage.Commands {
			switch c := command.(type) {
			case *instructions.AddCommand:
				t.Errorf("%s: ADD; COPY does no more than it says", c)
			case *instructions.CopyCommand:
				for _, source := range c.SourcePaths {
					if c.From != "" {
						continue
					}
					if _, err := os.Stat(filepath.Join("..", "..", source)); err != nil {
						t.Errorf("COPY %s: %v", source, err)
					}
					if !strings.Contains(read(t, "../Dockerfile.dockerignore"), "\n!"+source+"\n") {
						t.Errorf("COPY %s: it is kept out by Dockerfile.dockerignore", source)
					}
				}
			case *instructions.UserCommand:
				user = regexp.MustCompile(`^[1-9]\d*(:[1-9]\d*)?$`).MatchString(c.User)
			case *instructions.HealthCheckCommand:
				health = len(c.Health.Test) > 2 && c.Health.Test[0] == "CMD" && c.Health.Test[2] == "healthcheck"
			case *instructions.EntrypointCommand:
				entry = !c.PrependShell
			}
		}
		if stage.BaseName == "scratch" && (!user || !health || !entry) {
			t.Errorf("%s: numeric user %v, health check by the program %v, entry point without a shell %v", stage.Name, user,
				health, entry)
		}
	}
}
