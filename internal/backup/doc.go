// Package backup writes what the engine has backed up into one folder or one tar file, with a manifest of it, and takes
// it out again. It knows files, and nothing of what is in them.
//
// Invariants, cited in the code as backup-N:
//
//  1. A backup is there under its name when it is whole, and not before: it is written beside it under another name,
//     with the manifest as the last thing, brought to the disk, and then renamed. Nothing that is there is replaced.
//  2. What is taken out is what was put in: each file has the size and the SHA-256 that the manifest says, none is
//     missing and none is there besides. The manifest has a checksum of its own.
//  3. Taking out writes below the folder that it is given, whatever names are in the backup.
//  4. What a process that died has left beside the name is removed by the next one that writes a backup of that name.
//  5. Only regular files are read, and no sparse ones: a pipe would never end, a link leads elsewhere, and a small file
//     could claim to hold more than any disk.
package backup
