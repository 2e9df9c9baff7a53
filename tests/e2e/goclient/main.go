// A client as storage-provider software writes it: one connection, only Prove, 256 MiB messages, a
// deadline of 30 minutes, request ids of its own. Reads calls from standard input, one JSON object a
// line, makes each in a goroutine, and prints one JSON object per answer.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"cuzk/v1"
	"google.golang.org/grpc"
)

const maxMessage = 256 << 20

// call is one line of input; byte fields are base64, as encoding/json has them.
type call struct {
	Tag             string   `json:"tag"`
	RequestID       string   `json:"request_id"`
	Kind            int32    `json:"kind"`
	SectorSize      uint64   `json:"sector_size"`
	RegisteredProof uint64   `json:"registered_proof"`
	Priority        int32    `json:"priority"`
	SectorNumber    uint64   `json:"sector_number"`
	MinerID         uint64   `json:"miner_id"`
	Partition       uint32   `json:"partition_index"`
	VanillaProof    []byte   `json:"vanilla_proof"`
	VanillaProofs   [][]byte `json:"vanilla_proofs"`
	Randomness      []byte   `json:"randomness"`
	CommROld        []byte   `json:"comm_r_old"`
	CommRNew        []byte   `json:"comm_r_new"`
	CommDNew        []byte   `json:"comm_d_new"`
}

type answer struct {
	Tag     string `json:"tag"`
	JobID   string `json:"job_id"`
	Status  string `json:"status"`
	Proof   []byte `json:"proof"`
	Message string `json:"error_message"`
	Error   string `json:"error"` // of the call itself
	Queue   uint64 `json:"queue_wait_ms"`
	Load    uint64 `json:"srs_load_ms"`
	Synth   uint64 `json:"synthesis_ms"`
	GPU     uint64 `json:"gpu_compute_ms"`
	Total   uint64 `json:"total_ms"`
	WallMS  int64  `json:"wall_ms"`
}

func target(addr string) string {
	if strings.HasPrefix(addr, "unix:") || strings.Contains(addr, "://") {
		return addr
	}
	return "dns:///" + addr
}

func prove(client cuzkv1.ProvingEngineClient, c call) answer {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	start := time.Now()
	r, err := client.Prove(ctx, &cuzkv1.ProveRequest{Submit: &cuzkv1.SubmitProofRequest{
		RequestId:       c.RequestID,
		ProofKind:       cuzkv1.ProofKind(c.Kind),
		SectorSize:      c.SectorSize,
		RegisteredProof: c.RegisteredProof,
		Priority:        cuzkv1.Priority(c.Priority),
		SectorNumber:    c.SectorNumber,
		MinerId:         c.MinerID,
		PartitionIndex:  c.Partition,
		VanillaProof:    c.VanillaProof,
		VanillaProofs:   c.VanillaProofs,
		Randomness:      c.Randomness,
		CommROld:        c.CommROld,
		CommRNew:        c.CommRNew,
		CommDNew:        c.CommDNew,
	}})
	a := answer{Tag: c.Tag, WallMS: time.Since(start).Milliseconds()}
	if err != nil {
		a.Error = err.Error()
		return a
	}
	p := r.GetResult()
	a.JobID, a.Status, a.Proof, a.Message = p.GetJobId(), p.GetStatus().String(), p.GetProof(), p.GetErrorMessage()
	a.Queue, a.Load, a.Synth = p.GetQueueWaitMs(), p.GetSrsLoadMs(), p.GetSynthesisMs()
	a.GPU, a.Total = p.GetGpuComputeMs(), p.GetTotalMs()
	return a
}

func run(addr string) error {
	conn, err := grpc.Dial(target(addr), grpc.WithInsecure(), grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := cuzkv1.NewProvingEngineClient(conn)
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, readErr := in.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var c call
			if err := json.Unmarshal(line, &c); err != nil {
				return err
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				a := prove(client, c)
				mu.Lock()
				defer mu.Unlock()
				_ = out.Encode(a)
			}()
		}
		if readErr != nil {
			break
		}
	}
	wg.Wait()
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: goclient ADDRESS < calls")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
