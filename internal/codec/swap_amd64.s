#include "textflag.h"

// Which byte of each 16 goes where: VPSHUFB's second operand.
DATA reverse16<>+0(SB)/8, $0x0607040502030001
DATA reverse16<>+8(SB)/8, $0x0e0f0c0d0a0b0809
GLOBL reverse16<>(SB), RODATA|NOPTR, $16

DATA reverse32<>+0(SB)/8, $0x0405060700010203
DATA reverse32<>+8(SB)/8, $0x0c0d0e0f08090a0b
GLOBL reverse32<>(SB), RODATA|NOPTR, $16

DATA reverse64<>+0(SB)/8, $0x0001020304050607
DATA reverse64<>+8(SB)/8, $0x08090a0b0c0d0e0f
GLOBL reverse64<>(SB), RODATA|NOPTR, $16

// func swap16(dst, src unsafe.Pointer, n int)
TEXT ·swap16(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTI128 reverse16<>(SB), Y14
	JMP  swap<>(SB)

// func swap32(dst, src unsafe.Pointer, n int)
TEXT ·swap32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTI128 reverse32<>(SB), Y14
	JMP  swap<>(SB)

// func swap64(dst, src unsafe.Pointer, n int)
TEXT ·swap64(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTI128 reverse64<>(SB), Y14
	JMP  swap<>(SB)

// swap moves CX bytes, 16 or more, from SI to DI, and reorders each 16 as Y14
// says. The last vectors overlap what comes before them: they are loaded first,
// so that this holds in place too, and stored last.
//
// Eight vectors a turn, because with four the loop's own instructions cost a
// fifth of lists of 2 to 8 KB. All stores go through the cache: beyond 1 MB others
// would be faster, as memmove's are, but whoever reads the list next would wait
// for memory.
TEXT swap<>(SB), NOSPLIT|NOFRAME, $0
	CMPQ CX, $64
	JBE  upTo64
	VMOVDQU -64(SI)(CX*1), Y12
	VMOVDQU -32(SI)(CX*1), Y13
	VPSHUFB Y14, Y12, Y12
	VPSHUFB Y14, Y13, Y13
	CMPQ CX, $128
	JBE  upTo128
	VMOVDQU -128(SI)(CX*1), Y10
	VMOVDQU -96(SI)(CX*1), Y11
	VPSHUFB Y14, Y10, Y10
	VPSHUFB Y14, Y11, Y11
	LEAQ (DI)(CX*1), DX

	// CX is what lies before the last four vectors, less half a turn: a turn may
	// reach into them, but not beyond.
	SUBQ $256, CX
	JLE  half
	PCALIGN $64

turn:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VMOVDQU 128(SI), Y4
	VMOVDQU 160(SI), Y5
	VMOVDQU 192(SI), Y6
	VMOVDQU 224(SI), Y7
	VPSHUFB Y14, Y0, Y0
	VPSHUFB Y14, Y1, Y1
	VPSHUFB Y14, Y2, Y2
	VPSHUFB Y14, Y3, Y3
	VPSHUFB Y14, Y4, Y4
	VPSHUFB Y14, Y5, Y5
	VPSHUFB Y14, Y6, Y6
	VPSHUFB Y14, Y7, Y7
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VMOVDQU Y4, 128(DI)
	VMOVDQU Y5, 160(DI)
	VMOVDQU Y6, 192(DI)
	VMOVDQU Y7, 224(DI)
	ADDQ $256, SI
	ADDQ $256, DI
	SUBQ $256, CX
	JGT  turn

half:
	ADDQ $128, CX
	JLE  last
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VPSHUFB Y14, Y0, Y0
	VPSHUFB Y14, Y1, Y1
	VPSHUFB Y14, Y2, Y2
	VPSHUFB Y14, Y3, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)

last:
	VMOVDQU Y10, -128(DX)
	VMOVDQU Y11, -96(DX)
	VMOVDQU Y12, -64(DX)
	VMOVDQU Y13, -32(DX)
	VZEROUPPER
	RET

upTo128:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPSHUFB Y14, Y0, Y0
	VPSHUFB Y14, Y1, Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y12, -64(DI)(CX*1)
	VMOVDQU Y13, -32(DI)(CX*1)
	VZEROUPPER
	RET

upTo64:
	CMPQ CX, $32
	JB   upTo31
	VMOVDQU (SI), Y0
	VMOVDQU -32(SI)(CX*1), Y1
	VPSHUFB Y14, Y0, Y0
	VPSHUFB Y14, Y1, Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, -32(DI)(CX*1)
	VZEROUPPER
	RET

upTo31:
	VMOVDQU (SI), X0
	VMOVDQU -16(SI)(CX*1), X1
	VPSHUFB X14, X0, X0
	VPSHUFB X14, X1, X1
	VMOVDQU X0, (DI)
	VMOVDQU X1, -16(DI)(CX*1)
	VZEROUPPER
	RET

// func wide16(dst, src unsafe.Pointer, n int)
TEXT ·wide16(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTI32X4 reverse16<>(SB), Z14
	JMP  wide<>(SB)

// func wide32(dst, src unsafe.Pointer, n int)
TEXT ·wide32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTI32X4 reverse32<>(SB), Z14
	JMP  wide<>(SB)

// func wide64(dst, src unsafe.Pointer, n int)
TEXT ·wide64(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTI32X4 reverse64<>(SB), Z14
	JMP  wide<>(SB)

// wide does the same as swap for 256 bytes or more, four vectors of 64 a turn:
// half the instructions.
TEXT wide<>(SB), NOSPLIT|NOFRAME, $0
	LEAQ (DI)(CX*1), DX
	VMOVDQU64 -256(SI)(CX*1), Z4
	VMOVDQU64 -192(SI)(CX*1), Z5
	VMOVDQU64 -128(SI)(CX*1), Z6
	VMOVDQU64 -64(SI)(CX*1), Z7
	VPSHUFB Z14, Z4, Z4
	VPSHUFB Z14, Z5, Z5
	VPSHUFB Z14, Z6, Z6
	VPSHUFB Z14, Z7, Z7
	SUBQ $256, CX // what lies before the last four
	JLE  last
	PCALIGN $64

turn:
	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VPSHUFB Z14, Z0, Z0
	VPSHUFB Z14, Z1, Z1
	VPSHUFB Z14, Z2, Z2
	VPSHUFB Z14, Z3, Z3
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	ADDQ $256, SI
	ADDQ $256, DI
	SUBQ $256, CX
	JGT  turn

last:
	VMOVDQU64 Z4, -256(DX)
	VMOVDQU64 Z5, -192(DX)
	VMOVDQU64 Z6, -128(DX)
	VMOVDQU64 Z7, -64(DX)
	VZEROUPPER
	RET
