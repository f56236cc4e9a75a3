"""What clients of logs may do besides sending and polling, a chore each."""
