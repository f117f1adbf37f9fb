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

// func vectorCopyASCII(dst, p unsafe.Pointer, n int) bool
//
// As above, with a copy on the way. The last two vectors are stored last; they overlap what was stored before
// with the same bytes.
TEXT ·vectorCopyASCII(SB), NOSPLIT, $0-25
	MOVQ dst+0(FP), DI
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX
	VMOVDQU -64(SI)(CX*1), Y4
	VMOVDQU -32(SI)(CX*1), Y5
	LEAQ -64(DI)(CX*1), DX
	VMOVDQA Y4, Y0
	VMOVDQA Y5, Y1
	CMPQ CX, $128
	JBE  two

piece:
	VMOVDQU (SI), Y2
	VMOVDQU 32(SI), Y3
	VMOVDQU 64(SI), Y6
	VMOVDQU 96(SI), Y7
	VMOVDQU Y2, (DI)
	VMOVDQU Y3, 32(DI)
	VMOVDQU Y6, 64(DI)
	VMOVDQU Y7, 96(DI)
	VPOR Y2, Y0, Y0
	VPOR Y3, Y1, Y1
	VPOR Y6, Y0, Y0
	VPOR Y7, Y1, Y1
	SUBQ $-128, SI
	SUBQ $-128, DI
	ADDQ $-128, CX
	CMPQ CX, $128
	JA   piece

two:
	CMPQ CX, $64
	JBE  rest
	VMOVDQU (SI), Y2
	VMOVDQU 32(SI), Y3
	VMOVDQU Y2, (DI)
	VMOVDQU Y3, 32(DI)
	VPOR Y2, Y0, Y0
	VPOR Y3, Y1, Y1

rest:
	VMOVDQU Y4, (DX)
	VMOVDQU Y5, 32(DX)
	VPOR Y1, Y0, Y0
	VPMOVMSKB Y0, AX
	VZEROUPPER
	TESTL AX, AX
	SETEQ ret+24(FP)
	RET
