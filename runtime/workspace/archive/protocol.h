/*
 * What pinfold-archive and its client agree on. The helper is started with its limits as words ("max-members=1000"),
 * finds the archive at one place and writes to its current directory. It answers on its standard output, a JSON object
 * a line:
 *
 *   {"pinfold-archive": "VERSION"}                            first, before it has read anything
 *   {"progress": MEMBERS, "bytes": N}                         now and then, while it writes
 *   {"error": {"code": "...", "text": "...", "errno": N, "context": {...}}}     the last one: refused, or failed
 *   {"done": {"format": "...", "compression": "...", "members": N, ...}}        the last one: extracted
 */
#ifndef WORKSPACE_ARCHIVE_PROTOCOL_H
#define WORKSPACE_ARCHIVE_PROTOCOL_H

#define ARCHIVE_PROGRAM       "pinfold-archive"
#define ARCHIVE_PROGRAM_PLACE "/run/pinfold-archive"
#define ARCHIVE_INPUT_PLACE   "/run/archive"
#define ARCHIVE_LINE_MAX      4096
#define ARCHIVE_LINES_MAX     1000000

#define ARCHIVE_WORD_EXTRACTED "max-extracted"
#define ARCHIVE_WORD_MEMBERS   "max-members"
#define ARCHIVE_WORD_RATIO     "max-ratio"
#define ARCHIVE_WORD_STRIP     "strip-components"
#define ARCHIVE_WORD_LINKS     "links"
#define ARCHIVE_WORD_PORTABLE  "portable"

#endif
