package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// Names in a backup.
const (
	manifestName = "manifest.json"
	dataFolder   = "data"
)

// format is that of the manifest and what is beside it. It rises when an older program could not read what is written.
const format = 1

// Manifest says what is in a backup.
type Manifest struct {
	Format     int       `json:"format"`
	Program    string    `json:"program"` // version of the program that wrote it
	Engine     string    `json:"engine"`  // version of ClickHouse
	Database   string    `json:"database"`
	Schema     uint32    `json:"schema"`     // number of the newest file of the schema that was applied
	Generation uint32    `json:"generation"` // of tables and views
	MadeAt     time.Time `json:"made_at"`
	Bytes      int64     `json:"bytes"` // of all files
	Files      []File    `json:"files"`
	Checksum   string    `json:"checksum"` // SHA-256 of the manifest with this one empty
}

// File is one file of a backup.
type File struct {
	Path   string `json:"path"` // with slashes, below the folder of the data
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// seal returns the text of the manifest, with its checksum.
func (m *Manifest) seal() ([]byte, error) {
	sum, err := m.sum()
	if err != nil {
		return nil, err
	}
	m.Checksum = sum
	return json.MarshalIndent(m, "", " ")
}

func (m *Manifest) sum() (string, error) {
	bare := *m
	bare.Checksum = ""
	text, err := json.Marshal(bare)
	if err != nil {
		return "", fmt.Errorf("writing the manifest: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// parse reads the text of a manifest.
func parse(text []byte) (m Manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%w (its manifest cannot be read: %w)", ErrDamaged, err)
	}
	if m.Format > format {
		return m, fmt.Errorf("the backup is of dealhouse %s: %w", m.Program, ErrNewer)
	}
	sum, err := m.sum()
	if err != nil {
		return m, err
	}
	if m.Format < 1 || sum != m.Checksum {
		return m, fmt.Errorf("%w (its manifest has another checksum)", ErrDamaged)
	}
	left := m.Bytes
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) { // backup-3
			return m, fmt.Errorf("%w (its manifest names the file %q)", ErrDamaged, f.Path)
		}
		if f.Size < 0 || f.Size > left { // the disk is checked for Bytes
			return m, fmt.Errorf("%w (its manifest gives wrong sizes)", ErrDamaged)
		}
		left -= f.Size
	}
	if left != 0 {
		return m, fmt.Errorf("%w (its manifest gives wrong sizes)", ErrDamaged)
	}
	return m, nil
}
