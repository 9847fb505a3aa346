"""Storage of all that is kept of pictures in a library's folder, and that nothing of it is lost.

store, tables, rows   the store of record: Lance tables (Lance is imported when first used), and what a row holds
manifest, ingest, removal   which files are new, pictures into the store, and out of it
snapshot, snapshot_files, growing_arrays   `Snapshot`: what searching reads, one space of a library; how it lies on disk
    and grows
regions       vectors of parts of pictures, made when first needed
bucket, objects   a library at `s3://` or `gs://`, and pictures there
checksums, repair, repair_journal, snapshot_rows   damage found, and mended so that a kill loses nothing
settings      `library.json`
"""
