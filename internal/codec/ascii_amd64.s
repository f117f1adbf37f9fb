#include "textflag.h"

// func vectorASCII(p unsafe.Pointer, n int) bool
//
// The last two vectors overlap what comes before them. It does not stop at the first byte that is
// high: few strings have one, and a branch a turn would cost all others more.
TEXT ·vectorASCII(SB), NOSPLIT, $0-17
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVDQU -64(SI)(CX*1), Y0
	VMOVDQU -32(SI)(CX*1), Y1
	CMPQ CX, $64
	JBE  last

turn:
	VPOR (SI), Y0, Y0
	VPOR 32(SI), Y1, Y1
	ADDQ $64, SI
	SUBQ $64, CX
	CMPQ CX, $64
	JA   turn

last:
	VPOR Y1, Y0, Y0
	VPMOVMSKB Y0, AX
	VZEROUPPER
	TESTL AX, AX
	SETEQ ret+16(FP)
	RET
