/* ptx/video/: the video instructions (PTX ISA, "Video Instructions"). */
#ifndef FTH_PTX_VIDEO_H
#define FTH_PTX_VIDEO_H

#include "ptx/execute/execute.h"
#include "ptx/parse/operand.h"

/* Returns true if the opcode up to the first dot is that of a video instruction. */
bool fth_ptx_is_video(const char *base);
bool fth_ptx_family_video(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst);

#endif
