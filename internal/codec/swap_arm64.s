#include "textflag.h"

// SWAP moves R2 bytes, 16 or more, from R1 to R0, four vectors a turn, and
// reverses each element by REV. The last vectors overlap what comes before
// them: they are loaded first, so that this holds in place too, and stored last.
#define SWAP(REV) \
	MOVD dst+0(FP), R0; \
	MOVD src+8(FP), R1; \
	MOVD n+16(FP), R2; \
	ADD R0, R2, R3; \
	ADD R1, R2, R4; \
	CMP $64, R2; \
	BLS upTo64; \
	SUB $64, R4, R4; \
	SUB $64, R3, R3; \
	SUB $64, R2, R2; \
	VLD1 (R4), [V4.B16, V5.B16, V6.B16, V7.B16]; \
	REV V4.B16, V4.B16; \
	REV V5.B16, V5.B16; \
	REV V6.B16, V6.B16; \
	REV V7.B16, V7.B16; \
turn: \
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]; \
	REV V0.B16, V0.B16; \
	REV V1.B16, V1.B16; \
	REV V2.B16, V2.B16; \
	REV V3.B16, V3.B16; \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0); \
	SUBS $64, R2, R2; \
	BGT turn; \
	VST1 [V4.B16, V5.B16, V6.B16, V7.B16], (R3); \
	RET; \
upTo64: \
	CMP $32, R2; \
	BLS upTo32; \
	SUB $32, R4, R4; \
	SUB $32, R3, R3; \
	VLD1 (R1), [V0.B16, V1.B16]; \
	VLD1 (R4), [V2.B16, V3.B16]; \
	REV V0.B16, V0.B16; \
	REV V1.B16, V1.B16; \
	REV V2.B16, V2.B16; \
	REV V3.B16, V3.B16; \
	VST1 [V0.B16, V1.B16], (R0); \
	VST1 [V2.B16, V3.B16], (R3); \
	RET; \
upTo32: \
	SUB $16, R4, R4; \
	SUB $16, R3, R3; \
	VLD1 (R1), [V0.B16]; \
	VLD1 (R4), [V1.B16]; \
	REV V0.B16, V0.B16; \
	REV V1.B16, V1.B16; \
	VST1 [V0.B16], (R0); \
	VST1 [V1.B16], (R3); \
	RET

// func swap16(dst, src unsafe.Pointer, n int)
TEXT ·swap16(SB), NOSPLIT, $0-24
	SWAP(VREV16)

// func swap32(dst, src unsafe.Pointer, n int)
TEXT ·swap32(SB), NOSPLIT, $0-24
	SWAP(VREV32)

// func swap64(dst, src unsafe.Pointer, n int)
TEXT ·swap64(SB), NOSPLIT, $0-24
	SWAP(VREV64)
