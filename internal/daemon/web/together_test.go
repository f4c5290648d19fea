package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestTogether wants a panic of one of several questions to reach the goroutine that answers the request, after the
// others have ended.
func TestTogether(t *testing.T) {
	t.Parallel()
	ended := false
	defer func() {
		if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "on purpose\n") || !ended {
			t.Errorf("panic %q, the other one ended: %v", text, ended)
		}
	}()
	together(t.Context(), []func(context.Context){
		func(context.Context) { panic("on purpose") },
		func(context.Context) { ended = true },
	})
}
