"""Studies beside the runs: the durability audit, the model check, what was found in Apache
Kafka."""
