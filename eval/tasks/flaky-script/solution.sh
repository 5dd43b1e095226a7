sed -i 's/^sleep 0.2$/wait || exit 1/' collect.sh
