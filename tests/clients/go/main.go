// Plans a round with gangplan: plan HOST:PORT ROUND.pb
//
// ROUND.pb is a PlanRoundRequest in protobuf's binary form (`gangplan scenario expand FILE --to round.pb`). Prints one line of JSON.
// UNAVAILABLE is tried again, as the contract allows; the deadline is the time budget and ten seconds.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/ioutil"
	"os"
	"time"

	pb "gangplan/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// codec is gRPC's own for older releases of it, which know no message of this generation.
type codec struct{}

func (codec) Marshal(message interface{}) ([]byte, error) { return proto.Marshal(message.(proto.Message)) }
func (codec) Unmarshal(content []byte, message interface{}) error {
	return proto.Unmarshal(content, message.(proto.Message))
}
func (codec) Name() string { return "proto" }

func main() {
	if err := plan(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func plan(address, file string) error {
	content, err := ioutil.ReadFile(file)
	if err != nil {
		return err
	}
	request := &pb.PlanRoundRequest{}
	if err := proto.Unmarshal(content, request); err != nil {
		return err
	}
	connection, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})))
	if err != nil {
		return err
	}
	defer connection.Close()
	budget := 5 * time.Second
	if given := request.GetParameters().GetTimeBudget(); given != nil {
		budget = time.Duration(given.Seconds)*time.Second + time.Duration(given.Nanos)
	}
	client := pb.NewPlacementServiceClient(connection)
	var answer *pb.PlanRoundResponse
	for attempt := 0; attempt < 5; attempt++ {
		deadline, cancel := context.WithTimeout(context.Background(), budget+10*time.Second)
		answer, err = client.PlanRound(deadline, request)
		cancel()
		if status.Code(err) != codes.Unavailable {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	actions, waiting := [][]string{}, []string{}
	for _, action := range answer.Plan.Actions {
		actions = append(actions, []string{action.Kind.String(), action.Job})
	}
	for _, verdict := range answer.Verdicts {
		waiting = append(waiting, verdict.Job)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"verified":  answer.Verified,
		"objective": answer.Quality.Objective,
		"actions":   actions,
		"waiting":   waiting,
	})
}
