package main

import (
	"fmt"
	"sync/atomic"
)

// download is how far the embedded engine has been downloaded, if it has to be.
type download struct {
	percent atomic.Pointer[int]
}

// reached says how much of it is there.
func (d *download) reached(percent int) { d.percent.Store(&percent) }

// text is what a waiting user sees; nothing while nothing is downloaded.
func (d *download) text() string {
	percent := d.percent.Load()
	if percent == nil || *percent == 100 {
		return ""
	}
	return fmt.Sprintf(": downloading it, once, %d %%", *percent)
}
