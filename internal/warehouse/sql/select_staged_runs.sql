SELECT DISTINCT id FROM
(
    SELECT toString(toUUIDOrZero(partition)) AS id
    FROM system.parts
    WHERE active AND database = currentDatabase() AND table = {staging:String}
    UNION ALL
    SELECT toString(toUUIDOrZero(replaceRegexpOne(extract(name, '_([0-9a-f]{32})$'), '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\\1-\\2-\\3-\\4-\\5')))
    FROM system.tables
    WHERE database = /*$database{*/currentDatabase()/*}*/ AND arrayExists(prefix -> startsWith(name, prefix), {prefixes:Array(String)})
) WHERE id != '00000000-0000-0000-0000-000000000000'
