package service

import (
	"testing"

	"dealhouse/internal/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, enginetest.Options{}) }
