// Plans a round with gangplan: node plan.js HOST:PORT PROTO_FOLDER ROUND.pb
//
// ROUND.pb is a PlanRoundRequest in protobuf's binary form (`gangplan scenario expand FILE --to round.pb`). Prints one line of JSON.
// UNAVAILABLE is tried again, as the contract allows; the deadline is the time budget and ten seconds.
"use strict";

const fs = require("fs");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [address, folder, file] = process.argv.slice(2);
const definition = loader.loadSync("gangplan/v1/placement_service.proto", {
  includeDirs: [folder],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
});
const { PlacementService } = grpc.loadPackageDefinition(definition).gangplan.v1;
const client = new PlacementService(address, grpc.credentials.createInsecure());
const request = definition["gangplan.v1.PlacementService"].PlanRound.requestDeserialize(fs.readFileSync(file));

const budget = request.parameters && request.parameters.time_budget;
const seconds = budget ? Number(budget.seconds) + budget.nanos / 1e9 : 5;

function plan(attempts) {
  client.PlanRound(request, { deadline: Date.now() + 1000 * (seconds + 10) }, (error, answer) => {
    if (error && error.code === grpc.status.UNAVAILABLE && attempts > 1) {
      setTimeout(() => plan(attempts - 1), 200);
      return;
    }
    if (error) {
      console.error(`${grpc.status[error.code]}: ${error.details}`);
      process.exitCode = 1;
    } else {
      console.log(
        JSON.stringify({
          verified: answer.verified,
          objective: answer.quality.objective,
          actions: answer.plan.actions.map((each) => [each.kind, each.job]),
          waiting: answer.verdicts.map((each) => each.job),
        }),
      );
    }
    client.close();
  });
}

plan(5);
