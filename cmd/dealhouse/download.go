package main

import (
	"fmt"
	"sync/atomic"
)

// download is the progress of the download of the embedded engine, if there is one.
type download struct {
	percent atomic.Pointer[int]
}

// reached notes how much has been downloaded.
func (d *download) reached(percent int) { d.percent.Store(&percent) }

// text is what a waiting user sees; "" while nothing is downloaded.
func (d *download) text() string {
	percent := d.percent.Load()
	if percent == nil || *percent == 100 {
		return ""
	}
	return fmt.Sprintf(": downloading it, once, %d %%", *percent)
}
