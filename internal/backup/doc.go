// Package backup takes backups of an embedded warehouse, and restores them. The engine writes its files into a folder
// of its own; this package moves them into one folder or one tar file, with a manifest, and brings them back. It knows
// when the engine may write and read, and nothing about the content of its files.
//
// Invariants, cited in the code as backup-N:
//
//  1. A backup gets its name only when it is complete. It is written under another name beside it, with the manifest
//     last, flushed to the disk, and then renamed. Nothing that exists is replaced.
//  2. What is extracted is what was written: each file has the size and the SHA-256 that the manifest says, and no file
//     is missing or added. The manifest has a checksum of its own.
//  3. Extraction writes only below the folder that it is given, whatever names the backup contains.
//  4. A process that died may leave files under the temporary name. The next process that writes a backup of that name
//     removes them.
//  5. Only regular files are read, and no sparse ones: a pipe might never end, a link may point elsewhere, and a small
//     sparse file could claim to be larger than any disk.
//  6. A folder that is restored into cannot be opened until all of it is there: it has a mark, which goes last. A
//     restore that fails leaves the folder empty; after one that died, the next restore into the folder starts over.
//  7. A warehouse is backed up once at a time, and a folder restored into once at a time. What a process that died has
//     left in the engine's folder for backups is removed by the next one.
package backup
