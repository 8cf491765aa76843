// Goroutines allocate C's blocks, hand them on and free them, with Go's own number of threads.  Argument: the blocks.
package main

// #include <stdlib.h>
// #include <string.h>
// static void *block(size_t size, int value) { return memset(malloc(size), value, size); }
import "C"

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"unsafe"
)

type block struct {
	at   unsafe.Pointer
	size int
}

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	blocks, sums := make(chan block, 1000), make([]int, 8)
	var makers, users sync.WaitGroup
	for n := range sums {
		makers.Add(1)
		users.Add(1)
		go func() {
			defer makers.Done()
			for i := 0; i < count; i++ {
				size := i*7919%5000 + 1
				blocks <- block{C.block(C.size_t(size), C.int(i%100)), size}
			}
		}()
		go func() {
			defer users.Done()
			for one := range blocks {
				bytes := unsafe.Slice((*byte)(one.at), one.size)
				sums[n] += int(bytes[0]) + int(bytes[one.size-1])
				text := C.CString(strconv.Itoa(one.size))
				sums[n] += len(C.GoString(text))
				C.free(unsafe.Pointer(text))
				C.free(one.at)
			}
		}()
	}
	makers.Wait()
	close(blocks)
	users.Wait()
	sum := 0
	for _, own := range sums {
		sum += own
	}
	fmt.Println(sum)
	io.ReadAll(os.Stdin)
}
