CREATE OR REPLACE VIEW schema_migrations
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    generation UInt32 COMMENT 'Of the tables of the streams and all views: the higher is the newer; 0 for files',
    applied_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse'
)
AS SELECT version, name, checksum, generation, applied_at FROM schema_migrations_log FINAL
COMMENT 'What has been applied to this database'
