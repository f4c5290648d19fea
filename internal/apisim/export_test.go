package apisim

// Paths returns the path of each list.
func Paths() map[string]string {
	paths := map[string]string{}
	for _, e := range endpoints() {
		paths[e.stream] = e.path
	}
	return paths
}

// CursorStreams returns the lists that are read by cursors, and those of them whose records can be read by id.
func CursorStreams() (all, byID []string) {
	for _, e := range endpoints() {
		if e.deals != nil || e.dates {
			all = append(all, e.stream)
		}
		if e.byID {
			byID = append(byID, e.stream)
		}
	}
	return all, byID
}
